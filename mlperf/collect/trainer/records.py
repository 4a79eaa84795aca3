"""The ranks' records as tables: one row an iteration, one row an update, and which of them are counted."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.collect.trainer.job import Job
from mlperf.collect.trainer.ledger import GPU_RECORD, GPU_TIMES, UPDATE_RECORD, UPDATE_TIMES, USE_RECORD, read_ledger
from mlperf.core.documents import read_json
from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.datasets.campaigns.write import write_csv
from mlperf.datasets.dictionary.numbers import EMPTY_HINT
from mlperf.datasets.reading.any_table import read_typed_table

LEAST_WARM_UP = 5
WARM_UP_SHARE = 0.1
NOT_USED = -1
GPU_COLUMNS = ("node", "gpu", "iteration", "start_s", *GPU_TIMES, "version", "update")
NEXT_START = "iteration_s"
UPDATE_COLUMNS = ("node", "update", "start_s", *UPDATE_TIMES, NEXT_START)
RULE = (
    f"the first tenth of a run's updates, at least {LEAST_WARM_UP}, and the last update are left out; GPU iterations count when "
    "they begin and end between the first and the last counted update of their node"
)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """What one run has written.

    Attributes
    ----------
    gpu : DataFrame
        One row an iteration of a worker: ``node``, ``gpu``, ``iteration``, ``start_s``, the eight times, ``fetched``, ``version``
        (of the weights used), ``loss``, ``update`` (that used the gradient, -1: none), ``iteration_s``, ``counted``.
    updates : DataFrame
        One row an update of a node: ``node``, ``update``, ``start_s``, the nine times, buffers and gradients,
        ``iteration_s``, ``counted``.
    end : tuple of Mapping
        What each rank said at its end; empty where the run broke off.
    """

    gpu: pd.DataFrame
    updates: pd.DataFrame
    end: tuple[dict[str, Any], ...]

    @property
    def uses(self) -> pd.DataFrame:
        """Gradients that some update has used, with their ``staleness``: version updated less version read."""
        used = self.gpu[self.gpu["update"] != NOT_USED]
        return used.assign(staleness=used["update"] - used["version"])


def warm_up(n_updates: int) -> int:
    """Updates at the start that are stored but not counted."""
    return max(LEAST_WARM_UP, math.ceil(WARM_UP_SHARE * n_updates))


def read_records(job: Job, folder: Path) -> Records:
    """Read what the ranks have written so far, a broken run included."""
    updates = pd.concat([read_updates(folder, node) for node in range(job.n_nodes)], ignore_index=True)
    parts = []
    for node in range(job.n_nodes):
        window = counted_window(updates[updates["node"] == node])
        uses = pd.DataFrame(read_ledger(folder / f"use-{node}.bin", USE_RECORD))
        parts += [read_gpu(folder, node, gpu, uses, window) for gpu in range(job.n_gpus_per_node)]
    ends = [folder / f"rank-{node}.end" for node in range(job.n_nodes)]
    said = tuple(read_json(path, dict) for path in ends if path.exists())
    return Records(pd.concat(parts, ignore_index=True), updates, said)


def read_updates(folder: Path, node: int) -> pd.DataFrame:
    """Updates of one node, with the time from one start to the next."""
    frame = pd.DataFrame(read_ledger(folder / f"update-{node}.bin", UPDATE_RECORD))
    frame.insert(0, "node", node)
    frame.insert(1, "update", range(len(frame)))
    frame["iteration_s"] = -frame["start_s"].diff(-1)
    frame["counted"] = ((frame["update"] >= warm_up(len(frame))) & frame["iteration_s"].notna()).astype(int)
    return frame


def counted_window(updates: pd.DataFrame) -> tuple[float, float]:
    """Start of the first counted update of a node and end of the last; empty where none counts."""
    counted = updates[updates["counted"] == 1]
    if counted.empty:
        return math.inf, -math.inf
    return float(counted["start_s"].iloc[0]), float(counted["start_s"].iloc[-1] + counted["iteration_s"].iloc[-1])


def read_gpu(folder: Path, node: int, gpu: int, uses: pd.DataFrame, window: tuple[float, float]) -> pd.DataFrame:
    """Iterations of one worker, with the update that used each gradient."""
    frame = pd.DataFrame(read_ledger(folder / f"gpu-{node}-{gpu}.bin", GPU_RECORD))
    frame.insert(0, "node", node)
    frame.insert(1, "gpu", gpu)
    frame.insert(2, "iteration", range(len(frame)))
    used = uses[uses["gpu"] == gpu].set_index("iteration")["update"]
    if used.index.has_duplicates:
        twice = used.index[used.index.duplicated()][0]
        got = f"got the gradient of iteration {twice} of worker {gpu} twice, expected every gradient to be used once"
        raise DataError(got, place=str(folder / f"use-{node}.bin"), hint="The record is damaged: run the setting again.")
    frame["update"] = frame["iteration"].map(used).fillna(NOT_USED).astype(int)
    frame["iteration_s"] = -frame["start_s"].diff(-1)
    inside = (frame["start_s"] >= window[0]) & (frame["start_s"] + frame["iteration_s"] <= window[1])
    frame["counted"] = inside.astype(int)
    return frame


def store_records(records: Records, folder: Path) -> None:
    """Write the records as ``gpu.csv.gz``, ``updates.csv.gz`` and ``end.json``, then remove the ranks' binary files."""
    for name in ("gpu", "updates"):
        write_csv(getattr(records, name), folder / f"{name}.csv.gz")
    write_text_whole(folder / "end.json", json.dumps(records.end))
    for pattern in ("*.bin", "rank-*.end", "rank-*.pid"):
        for path in folder.glob(pattern):
            path.unlink()


def stored_records(folder: Path) -> Records:
    """Read what `store_records` wrote.

    Raises
    ------
    DataError
        A column is missing, or a cell is no number: names file, line, column and value.
    """
    gpu, updates = (_whole_table(folder, *table) for table in (("gpu", GPU_COLUMNS), ("updates", UPDATE_COLUMNS)))
    return Records(gpu, updates, tuple(read_json(folder / "end.json", list)))


def _whole_table(folder: Path, name: str, needed: tuple[str, ...]) -> pd.DataFrame:
    """A table of records in which no needed cell is missing, but the time to an update that never came."""
    table = read_typed_table(folder / f"{name}.csv.gz", needed, numbers=lambda _: True, signed=("start_s",))
    for column in (each for each in needed if each != NEXT_START):
        missing = table.frame[column].isna().to_numpy()
        if missing.any():
            raise table.grid.error(int(missing.argmax()), column, "a number", EMPTY_HINT)
    return table.frame
