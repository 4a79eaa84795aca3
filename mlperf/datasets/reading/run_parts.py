"""Whether what was measured of a run as a whole goes with what was measured of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.schema import SETTING
from mlperf.datasets.dictionary.synchronous_schema import DDP_RUNS, PARTS
from mlperf.datasets.reading.read import ReadTable, read_checked
from mlperf.datasets.reading.source import check_settled

GPU_PARTS = (
    *("lock_weights_gpu", "load_image", "deform_image", "compute_gradient", "compute_update_value"),
    *("lock_gradient_gpu", "update_gradient"),
)
UPDATE_PARTS = (
    *("lock_gradient_update", "update_old_weights", "add_momentum", "allreduce", "update_momentum"),
    *("lock_weights_update", "update_weights"),
)
SHORTEST, LONGEST = 0.9, 100.0
"""Of an iteration over its parts. Means over threads are not taken together: the sum of bundled runs is met to 1 % from below.
What stands between the parts may be long (workers that are held back on purpose: 35 times), a wrong unit is 1,000 times."""

OVERLAPS = ("overlap", "input_overlap")
SUM_AGREES = 0.05
"""Share by which a synchronous step may differ from its parts, which are means over the same steps: those kept differ by 5e-5."""


def iteration_parts_s(components: pd.DataFrame) -> dict[str, FloatArray]:
    """What one iteration of each kind of thread takes by the components of its run, shape (n_runs,) each.

    Weights are fetched in the share of iterations that find new ones, of a node's gradient buffers the fresh ones are summed.

    References
    ----------
    Oyama et al. (SPRINT), Tables 3 and 4.
    """
    c = components
    gpu = sum((c[f"{name}_s"] for name in GPU_PARTS), c["fetch_probability"] * c["fetch_weights_s"])
    summed = c["n_gpus_per_node"] * c["ready_probability"] * c["sum_gradient_s"]
    update = sum((c[f"{name}_s"] for name in UPDATE_PARTS), summed)
    return {"gpu_iteration_s": gpu.to_numpy(np.float64), "update_iteration_s": update.to_numpy(np.float64)}


def check_runs(tables: Mapping[str, ReadTable]) -> None:
    """Check that ``runs.csv`` and ``components.csv`` of a campaign say the same of each run that both hold.

    Raises
    ------
    DataError
        Names file, line, column and value of the first row of ``runs.csv`` with another setting than in ``components.csv``, or with
        an iteration that its parts contradict.
    """
    if not {"runs", "components"} <= set(tables):
        return
    runs, components = tables["runs"], tables["components"].frame
    alone = components[~components["run"].duplicated(keep=False)]
    both = runs.frame.reset_index(names="at").merge(alone, on="run", suffixes=("", "_of_parts"))
    for name in SETTING:
        other = both[name] != both[f"{name}_of_parts"]
        if other.any():
            row = both[other].iloc[0]
            hint = "The two files hold other runs under one number: one of them belongs to another campaign."
            expected = f"{row[f'{name}_of_parts']}, as components.csv has it for run {row['run']}"
            raise runs.grid.error(int(row["at"]), name, expected, hint)
    for name, parts in iteration_parts_s(both).items():
        ratio = np.divide(both[name], parts, out=np.ones(len(both)), where=parts > 0.0)
        wrong = np.flatnonzero((ratio < SHORTEST) | (ratio > LONGEST))
        if len(wrong):
            row, sum_s = both.iloc[int(wrong[0])], float(parts[wrong[0]])
            expected = f"at least the {sum_s:.6g} s that its parts take together (run {row['run']} of components.csv)"
            if ratio[wrong[0]] > LONGEST:
                expected = f"at most {LONGEST:g} times the {sum_s:.6g} s of its parts (run {row['run']} of components.csv)"
            raise runs.grid.error(int(row["at"]), name, expected, "Times are in seconds: is one of the two in another unit?")


def contradicted_steps(runs: pd.DataFrame) -> BoolArray:
    """Rows of synchronous runs whose step is not the sum of its parts, shape (n_runs,).

    What runs beside something else counts where it is longer than that: such a step lies between its longest part and their sum.
    Rows that lack the column of a part contradict nothing.
    """
    if not {"step_s", *(f"{name}_s" for name in PARTS)} <= set(runs):
        return np.zeros(len(runs), dtype=bool)
    parts = runs[[f"{name}_s" for name in PARTS]].to_numpy(np.float64)
    step, whole = runs["step_s"].to_numpy(np.float64), parts.sum(axis=1)
    overlapped = runs[[name for name in OVERLAPS if name in runs]].to_numpy(np.float64).max(axis=1, initial=0.0) > 0.0
    least = np.where(overlapped, parts.max(axis=1), whole)
    return np.asarray((step < (1.0 - SUM_AGREES) * least) | (step > (1.0 + SUM_AGREES) * whole), dtype=bool)


def check_steps(runs: pd.DataFrame, place: str) -> None:
    """Check that the steps of synchronous runs go with their parts.

    Parameters
    ----------
    runs : DataFrame
        Rows of ``runs.csv`` of ``mlperf collect ddp``.
    place : str
        What the rows are called in messages.

    Raises
    ------
    DataError
        Names the first row whose step is not the sum of its parts (or, where parts overlap, not between the longest and the sum).
    """
    wrong = np.flatnonzero(contradicted_steps(runs))
    if len(wrong):
        raise step_error(runs, int(wrong[0]), f"{place}, row {wrong[0] + 1}, column step_s")


def read_steps(path: Path | str, duplicates: str = "error") -> pd.DataFrame:
    """Read ``runs.csv`` of ``mlperf collect ddp``.

    Raises
    ------
    DataError
        As `mlperf.datasets.reading.read.read_table`, and where a step contradicts its parts: names file, line and values.
    """
    table = read_checked(Path(path), DDP_RUNS, duplicates)
    check_settled([table.grid.source])
    wrong = np.flatnonzero(contradicted_steps(table.frame))
    if len(wrong):
        line, _ = table.grid.cell(int(table.frame.index[wrong[0]]), "step_s")
        raise step_error(table.frame, int(wrong[0]), f"{path}, line {line}, column step_s")
    return table.frame.reset_index(drop=True)


def step_error(runs: pd.DataFrame, row: int, place: str) -> DataError:
    """The error for a step that its parts contradict."""
    parts = runs[[f"{name}_s" for name in PARTS]].iloc[row]
    expected = f"{parts.sum():.6g}, the sum of {', '.join(parts.index)} (where they overlap, less, but not below {parts.max():.6g})"
    hint = "Parts are means over the same steps, in seconds. Parts that run side by side: set overlap or input_overlap to 1."
    return DataError(f"got {runs['step_s'].iloc[row]:.6g}, expected {expected}", place=place, hint=hint)
