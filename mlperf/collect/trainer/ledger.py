"""Records of iterations and updates, written while the run goes on: what a killed rank has written can be read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.systems.sprint.components import GPU_PARTS, UPDATE_PARTS

FLUSH_S = 1.0

GPU_TIMES = tuple(f"{name}_s" for name in GPU_PARTS)
ALLREDUCE = ("barrier_wait_s", "allreduce_payload_s")
"""The all-reduce in two parts: the wait for the slowest node, and the exchange itself."""

UPDATE_TIMES = tuple(name for part in UPDATE_PARTS for name in (ALLREDUCE if part == "allreduce" else (f"{part}_s",)))
GPU_RECORD = np.dtype(
    [("start_s", "f8"), *((name, "f8") for name in GPU_TIMES), ("fetched", "i8"), ("version", "i8"), ("loss", "f8")]
)
UPDATE_RECORD = np.dtype(
    [
        ("start_s", "f8"),
        *((name, "f8") for name in UPDATE_TIMES),
        ("n_buffers_added", "i8"),
        ("n_gradients_node", "i8"),
        ("n_gradients", "i8"),
    ]
)
USE_RECORD = np.dtype([("gpu", "i8"), ("iteration", "i8"), ("version", "i8"), ("update", "i8")])
"""One gradient used: worker and its iteration, version of the weights it was computed from, and the update that used it."""


class Ledger:
    """Rows of one thread, appended to a binary file about once a second.

    Parameters
    ----------
    path : Path
        The file.
    dtype : numpy dtype
        A record.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._stream = path.open("ab", buffering=0)
        self._dtype = dtype
        self._rows: list[tuple[Any, ...]] = []
        self._flushed_s = time.monotonic()

    def append(self, row: tuple[Any, ...]) -> None:
        """Remember one record; write all once a second."""
        self._rows.append(row)
        if time.monotonic() - self._flushed_s > FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Write what is remembered."""
        self._stream.write(np.array(self._rows, dtype=self._dtype).tobytes())
        self._rows.clear()
        self._flushed_s = time.monotonic()

    def close(self) -> None:
        """Write what is remembered and close the file."""
        self.flush()
        self._stream.close()


def read_ledger(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Complete records of a file; none where there is no file, a torn last one is left out."""
    if not path.exists():
        return np.zeros(0, dtype=dtype)
    return np.fromfile(path, dtype=dtype, count=path.stat().st_size // dtype.itemsize)
