"""A run under assumptions: all together, each alone, and what they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.combine import edited
from mlperf.traces.whatif.edits import Edit
from mlperf.traces.whatif.load import Validation, validation_of

NS = 1e-9
TOGETHER = "all together"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assumed(Shown, frame="assumptions"):
    """What assumptions bring.

    Attributes
    ----------
    source : str
    before_s, time_s : float
        T of the replay without and with all assumptions, seconds.
    saved_s, saved_share : float
    assumptions : DataFrame
        One row an assumption alone, and one for all together: text, the paper's label, T, seconds saved, share.
    ranks : DataFrame
        End of every rank before and after, seconds.
    validation : Validation
    """

    source: str
    before_s: float
    time_s: float
    saved_s: float
    saved_share: float
    assumptions: pd.DataFrame
    ranks: pd.DataFrame
    validation: Validation


def assume(run: Replay, edits: Sequence[Edit]) -> Assumed:
    """Predict the run after one change or several."""
    after = edited(run, edits)
    rows = [_row(run, edit.text, edit.label, edited(run, [edit])) for edit in edits] if len(edits) > 1 else []
    only = len(edits) == 1
    labels = " & ".join(edit.label for edit in edits if edit.label)
    rows.append(_row(run, edits[0].text if only else TOGETHER, labels, after))
    columns = ["assumption", "label", "time_s", "saved_s", "saved_share"]
    ranks = pd.DataFrame({"rank": range(run.program.n_ranks), "before_s": run.rank_end_ns * NS, "after_s": after.rank_end_ns * NS})
    return Assumed(
        ", ".join(run.program.table.sources),
        run.total_ns * NS,
        after.total_ns * NS,
        (run.total_ns - after.total_ns) * NS,
        1.0 - after.total_ns / max(run.total_ns, 1),
        pd.DataFrame(rows, columns=columns),
        ranks,
        validation_of(run),
    )


def _row(run: Replay, text: str, label: str, after: Replay) -> tuple[str, str, float, float, float]:
    """One row of the table."""
    saved = run.total_ns - after.total_ns
    return text, label, after.total_ns * NS, saved * NS, saved / max(run.total_ns, 1)
