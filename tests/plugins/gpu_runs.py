"""Runs in the format of a GPU campaign, made up from a law of times."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

# x_0 = 12; conv 4 (pool), conv 5, fc 6: sizes 12, 10/2 = 5, 3, 1.
NET = {"name": "G00", "x0": 12, "m": [3, 4, 5, 6], "p": [2, 1], "L": 3, "Lc": 2, "flops": 0, "n_param": 0}
EXPLICIT = [
    *(("im2col", layer) for layer in (1, 2)),
    *(("convolution", layer) for layer in (1, 2)),
    *(("bias_relu", layer) for layer in (1, 2)),
    ("pooling", 1),
    ("fc", 3),
    ("softmax", 3),
    ("dpooling", 1),
    *(("drelu", layer) for layer in (1, 2)),
    *((kind, layer) for kind in ("dedw", "dedb") for layer in (1, 2, 3)),
    ("dedx-fc", 2),
    ("dedx-conv", 1),
    ("col2im", 1),
]
LIBRARY = [
    ("conv_fwd", 1),
    ("relu_fwd", 1),
    ("pool_fwd", 1),
    ("fc_fwd", 3),
    ("softmax", 3),
    ("fc_bwd", 3),
    ("relu_bwd", 2),
    ("conv_bwd", 2),
    ("pool_bwd", 1),
]
OPS = ("h2d", "h2d_pinned", "d2h", "d2h_pinned", "scale_dev", "host_copy", "host_add", "host_momentum", "host_sub")

Row = Iterable[object]


def write_csv(path: Path, header: str, rows: Iterable[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header.split(), *rows])


def write_run(folder: Path, factor: float = 1.0, device: str = "Example GPU") -> Path:
    """One run in the format of the GPU campaign; every time is ``factor`` x a number that tells the row."""
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(
        json.dumps({"device": device, "torch": "2.13.0", "cuda": "12.6", "cudnn": None, "ncpu": 16, "argv": ["x", "--seed", "1"]})
    )
    (folder / "cnns.json").write_text(json.dumps([NET]))
    sgemm = [("grid", "NN", 1, 2, 4), ("half", "TN", 3, 2, 1), ("val", "NT", 5, 5, 6)]
    write_csv(
        folder / "sgemm.csv", "kind trans m n k med_ms min_ms stream_ms", [(*row, factor, factor, 2 * factor) for row in sgemm]
    )
    kernels = "cnn n_subbatch kernel layer med_ms min_ms"
    for name, calls in (("cnn_explicit", EXPLICIT), ("cnn_library", LIBRARY)):
        rows = [("G00", b, *call, factor * (i + 1) * b, factor) for b in (1, 2) for i, call in enumerate(calls)]
        write_csv(folder / f"{name}.csv", kernels, rows)
    whole = [("explicit", "G00", 2, 9 * factor, 7 * factor, 8, 1), ("library", "G00", 2, 5 * factor, "", 4, 1)]
    write_csv(folder / "cnn_whole.csv", "impl cnn n_subbatch whole_stream_ms whole_graph_ms sum_ms host_ms", whole)
    copies = [
        (op, 1000, threads, factor * (i + 1), factor) for i, op in enumerate(OPS) for threads in (1, 4)[: 1 + op.startswith("host")]
    ]
    write_csv(folder / "copies_host.csv", "op n_param threads med_ms min_ms", copies)
    return folder
