"""Two commands run in turns, block by block."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.progress import tracked
from mlperf.traces.runs.order import RUNS_A_BLOCK, A, B, block_orders
from mlperf.traces.runs.timed import DONE, OUT_OF_TIME, Program, TimedRun, timed_run

WARM_UP = "warm-up"
COLUMNS = ("run", "program", "block", "use", "status", "value", "wall_s", "exit_code", "said")


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How two commands are compared.

    Attributes
    ----------
    blocks : int
        Blocks of four runs, >= 2.
    warm_up : int
        First runs of each command that have no say.
    most_s : float or None
        No run goes beyond so many seconds after the start.
    metric : pattern or None
        Number in the output that is compared in place of the wall time.
    seed : int
        Of the order.
    """

    blocks: int = 6
    warm_up: int = 1
    most_s: float | None = None
    metric: re.Pattern[str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what decides nothing."""
        if self.blocks < 2:
            raise UsageError(f"got {self.blocks}, expected at least 2 blocks", place="--blocks")
        if self.most_s is not None and not self.most_s > 0:
            raise UsageError(f"got {self.most_s}, expected seconds > 0", place="--max-time")


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """What was run.

    Attributes
    ----------
    frame : DataFrame
        One row a run, in their order: ``run, program`` (A or B), ``block`` (-1: warm-up), ``use`` (``compared``, ``warm-up``,
        ``block not whole``), ``status, value, wall_s, exit_code, said``.
    interrupted : bool
        The user stopped it.
    """

    frame: pd.DataFrame
    interrupted: bool

    @property
    def compared(self) -> pd.DataFrame:
        """Rows of whole blocks."""
        return self.frame[self.frame["use"] == "compared"]

    def blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """Values and whether they are B's, both of shape (n_blocks, 4)."""
        rows = self.compared
        values = rows["value"].to_numpy(dtype=float).reshape(-1, RUNS_A_BLOCK)
        return values, (rows["program"] == B).to_numpy().reshape(-1, RUNS_A_BLOCK)


def run_in_turns(a: Program, b: Program, plan: RunPlan) -> Runs:
    """Run two commands in blocks ``ABBA`` or ``BAAB`` after their warm-up.

    A run that fails is kept in the table with what it said, and its block has no say. The same goes for what is cut short by the
    time limit or by the user.

    Raises
    ------
    DataError
        A command failed the first time it was run: nothing can be compared.
    """
    begun = time.monotonic()
    rows: list[dict[str, object]] = []
    interrupted = False
    try:
        for block, name in _turns(plan):
            left = None if plan.most_s is None else plan.most_s - (time.monotonic() - begun)
            if left is not None and left <= 0:
                break
            found = timed_run(a if name == A else b, plan.metric, left)
            _check_first(found, name, a if name == A else b, rows, plan.metric)
            rows.append({"run": len(rows), "program": name, "block": block, **asdict(found)})
            if found.status == OUT_OF_TIME:
                break
    except KeyboardInterrupt:
        interrupted = True
    frame = pd.DataFrame(rows, columns=[each for each in COLUMNS if each != "use"])
    frame.insert(3, "use", _use(frame))
    return Runs(frame, interrupted)


def _turns(plan: RunPlan) -> Iterator[tuple[int, str]]:
    """Block and command of each run."""
    turns = [(-1, name) for _ in range(plan.warm_up) for name in (A, B)]
    orders = block_orders(plan.blocks, plan.seed)
    turns += [(block, name) for block, order in enumerate(orders) for name in order]
    return tracked(turns, "runs")


def _check_first(
    found: TimedRun, name: str, program: Program, before: list[dict[str, object]], metric: re.Pattern[str] | None
) -> None:
    """Stop where a command never works."""
    if found.status in (DONE, OUT_OF_TIME) or any(row["program"] == name for row in before):
        return
    what, hint = f"ended with exit code {found.exit_code}", "Try the command by itself first."
    if not found.exit_code:
        asked = "" if metric is None else f" {metric.pattern!r}"
        what = f"printed no number > 0 that --metric{asked} finds"
        hint = r"Its first group holds the number, as in '([\d.]+) samples/s'; try the command by itself first."
    said = f"; it said: {found.said}" if found.said else "; it said nothing"
    raise DataError(f"{what} in its first run{said}", place=f"{name}, {program.text}", hint=hint)


def _use(frame: pd.DataFrame) -> list[str]:
    """What each run is for."""
    whole = frame["status"].eq(DONE).groupby(frame["block"]).agg(["sum", "size"])
    is_whole = (whole["sum"] == RUNS_A_BLOCK) & (whole["size"] == RUNS_A_BLOCK)
    return [
        WARM_UP if block < 0 else "compared" if bool(is_whole.get(block, False)) else "block not whole" for block in frame["block"]
    ]
