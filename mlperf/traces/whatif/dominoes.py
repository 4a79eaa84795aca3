"""The answer to: which few waits, if removed, shorten the run most, and which waits fall with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.replay.run import Replay
from mlperf.traces.whatif.domino import domino_search
from mlperf.traces.whatif.domino_facts import Domino, dominoes
from mlperf.traces.whatif.edits import event_number
from mlperf.traces.whatif.load import Validation, validation_of
from mlperf.traces.whatif.ranking import longest_wait
from mlperf.traces.whatif.sweep import sweep

NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dominoes(Shown, frame="paths"):
    """Domino paths of a run.

    Attributes
    ----------
    source : str
    time_s, best_s : float
        T of the replay, and with the best single wait removed, seconds.
    paths : DataFrame
        One row a domino, the first to push first: number of the path, the change as ``--assume`` takes it, place, partner's place,
        bytes, seconds it waits, T without that wait alone, seconds saved, what happens to all other waits together (seconds).
    longest_wait : str
        The change that removes the longest wait: what one would fix without the search.
    longest_wait_s, longest_wait_saved_s : float
        That wait, and what its removal saves, seconds.
    n_paths : int
    cut : bool
        Whether there are more equally good paths than are shown.
    n_unsure : int
        Waits left out because clocks are less certain than they are long.
    validation : Validation
    """

    source: str
    time_s: float
    best_s: float
    paths: pd.DataFrame
    longest_wait: str
    longest_wait_s: float
    longest_wait_saved_s: float
    n_paths: int
    cut: bool
    n_unsure: int
    validation: Validation


COLUMNS = ("path", "change", "place", "partner", "size_bytes", "wait_s", "time_s", "saved_s", "other_waits_s")


def find_dominoes(run: Replay, max_paths: int = 4) -> Dominoes:
    """Search the domino paths of a run.

    References
    ----------
    Kanbe et al. (PerWiz), section 3.1 and figure 3.
    """
    swept = sweep(run)
    found = domino_search(swept, max_paths)
    rows = [row for number, path in enumerate(found.paths) for row in _rows(run, number, dominoes(swept, path))]
    longest = longest_wait(run)
    return Dominoes(
        ", ".join(run.program.table.sources),
        run.total_ns * NS,
        found.total_ns * NS,
        pd.DataFrame(rows, columns=list(COLUMNS)),
        change_text(run, longest),
        int(swept.waits.wait_ns[longest]) * NS,
        (run.total_ns - int(swept.wait_zero_ns[longest])) * NS,
        len(found.paths),
        found.cut,
        found.n_unsure,
        validation_of(run),
    )


def change_text(run: Replay, event: int) -> str:
    """An event's wait as ``--assume`` takes it."""
    return f"wait({run.program.calls.event_rank[event]}:{event_number(run, np.array([event]))[0]})=0"


def _rows(run: Replay, number: int, facts: tuple[Domino, ...]) -> list[tuple[object, ...]]:
    """Rows of one path."""
    return [
        (
            number,
            change_text(run, one.event),
            one.site or one.kind,
            f"rank {one.partner_rank} {one.partner_site}".strip(),
            one.size_bytes,
            one.wait_ns * NS,
            one.total_ns * NS,
            one.saved_ns * NS,
            one.other_waits_ns * NS,
        )
        for one in facts
    ]
