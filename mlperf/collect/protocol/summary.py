"""What a campaign holds: rows, rounds, drift of each table, and how far halves of its rounds differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.collect.protocol.order import Drift, check_order, drift
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.core.shown import Shown
from mlperf.datasets.reading.read import read_checked
from mlperf.models.validation.scores import HalvesDifference, halves_difference

TARGETS = {"steps": "step_s"}


@dataclass(frozen=True, slots=True)
class TableSummary(Shown):
    """One table of a campaign; seconds are sums over all rows."""

    table: str
    n_rows: int
    n_configurations: int
    n_rounds: int
    cpu_s: float
    wall_s: float
    drift: Drift
    floor: HalvesDifference


@dataclass(frozen=True, slots=True)
class Collected(Shown):
    """Result of a run of `collect`.

    Attributes
    ----------
    folder : str
        The campaign.
    complete : bool
        Whether all rounds were finished; False when the budget ended first.
    tables : tuple of TableSummary
        The tables this run added to, with all rows they hold now.
    left_out : tuple of str
        Configurations that were not measured, each with the reason.
    """

    folder: str
    complete: bool
    tables: tuple[TableSummary, ...]
    left_out: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per table."""
        return pd.DataFrame(
            [
                {
                    "table": each.table,
                    "rows": each.n_rows,
                    "configurations": each.n_configurations,
                    "rounds": each.n_rounds,
                    "cpu_s": each.cpu_s,
                    "wall_s": each.wall_s,
                    "halves_differ": each.floor.mape,
                    "reference_correlation": each.drift.reference_correlation,
                    "round_share": each.drift.round_share,
                    "time_share": each.drift.time_share,
                }
                for each in self.tables
            ]
        )


def summarise(folder: Path, names: Sequence[str], left_out: Sequence[str] = (), *, complete: bool) -> Collected:
    """Read the tables back and diagnose them; ``complete`` and ``left_out`` are handed on.

    Raises
    ------
    DataError
        The order of a table is confounded with time.
    """
    found = [each for name in names if (each := summarise_table(folder, name)) is not None]
    return Collected(str(folder), complete, tuple(found), tuple(left_out))


def summarise_table(folder: Path, name: str) -> TableSummary | None:
    """Summary of one table, None where it has no rows yet."""
    table = GrowingTable(folder, name)
    if not table.path.exists():
        return None
    frame = read_checked(table.path, table.schema, "keep").frame
    key, target = list(table.schema.key), TARGETS.get(name, "cpu_s")
    if "cnn" in frame:
        check_order(frame, str(table.path))
    return TableSummary(
        table=name,
        n_rows=len(frame),
        n_configurations=frame.groupby(key).ngroups,
        n_rounds=int(frame["round"].nunique()),
        cpu_s=float(frame["cpu_s"].sum()),
        wall_s=float(frame["wall_s"].sum()),
        drift=drift(frame, key, target),
        floor=halves_difference(frame, key, target, order="round", by_number=True),
    )
