"""Writes model files with the parts that those of ``reference/models`` lack, small ones: inputs that the fuzzing tests damage.

Run from the repository's root: ``python tests/reference/model_parts/make_parts.py``.
"""

from __future__ import annotations

import json
import lzma
import runpy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mlperf
from mlperf.training.quality import fit_quality

HERE = Path(__file__).parent
MAKER = runpy.run_path(str(HERE.parent / "models" / "make_models.py"))
PARTS = ("runs", "characteristics")
"""Of the model of a campaign with asynchronous runs; by themselves, because the whole is large."""


def grouped_table() -> pd.DataFrame:
    """Times of a kernel on five devices, several repeats of each size, one device with few rows."""
    rng = np.random.default_rng(5)
    sizes = np.repeat(2.0 ** np.arange(3, 11), 8)
    device = rng.choice(list("abcd"), len(sizes))
    device[:2] = "e"
    time_s = (1e-6 * sizes**1.5 + 1e-4) * np.where(device == "b", 2.0, 1.0) * rng.lognormal(0.0, 0.05, len(sizes))
    lots = [f"lot{number % 9}" for number in range(len(sizes))]
    return pd.DataFrame({"n": sizes, "device": device, "lot": lots, "time_s": time_s})


def documents() -> dict[str, Any]:
    """Model files and parts of them, by name."""
    table = grouped_table()
    made = {
        "table_grouped": mlperf.train(table, target="time_s", formula="time_s ~ poly(n, 2) + device", groups="lot", n_folds=3),
        "table_chosen": mlperf.train(table, target="time_s", terms=("n", "n**1.5", "device"), categorical=("lot",), n_folds=3),
        "quality_nodes": fit_quality(["asgd-quality"], 0.9, data="digits"),
    }
    with tempfile.TemporaryDirectory() as scratch:
        campaign = MAKER["small_campaign"](Path(scratch) / "campaign")
        system = mlperf.train(campaign, n_folds=2, seed=1, characteristics=("swc-s",), runs=("asgd-networks",))
        found = {name: kept(model, Path(scratch) / "model.json") for name, model in made.items()}
        whole = kept(system, Path(scratch) / "model.json")
    return found | {name: whole[name] for name in PARTS}


def kept(model: Any, place: Path) -> Any:
    """A model's document without the words on where and when it was made."""
    return json.loads(MAKER["kept_text"](model, place))


def main() -> None:
    """Write every document, packed."""
    for name, document in documents().items():
        text = json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"
        (HERE / f"{name}.json.xz").write_bytes(lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
