"""What may be asked of predictions of runs: limits from a TOML file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlperf.core.documents import read_toml
from mlperf.core.json_fields import Fields
from mlperf.systems.sprint.outputs import OUTPUTS

INTERVALS = ("least_coverage", "most_coverage", "half_widths")
RANKED = ("regret",)
TABLES: Mapping[str, Collection[str]] = {
    "network_left_out": OUTPUTS,
    "more_nodes": OUTPUTS,
    "one_network": OUTPUTS,
    "intervals": INTERVALS,
    "ranking": RANKED,
}


@dataclass(frozen=True, slots=True)
class TrainerLimits:
    """Limits by table of the file and name; what has none is not judged.

    Attributes
    ----------
    network_left_out, more_nodes : mapping of str to float
        Largest mean relative error by quantity.
    one_network : mapping of str to float
        Largest median over the networks that are trained on.
    intervals : mapping of str to float
        Of `INTERVALS`: shares of runs inside 95 % intervals, and mean half-widths over the mean error.
    ranking : mapping of str to float
        Of `RANKED`: the largest regret of a chosen configuration, a fraction.
    missed : mapping of str to float
        Gates that are known to be missed, with the value reached: they are missed all the same.
    """

    network_left_out: Mapping[str, float] = field(default_factory=dict)
    more_nodes: Mapping[str, float] = field(default_factory=dict)
    one_network: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, float] = field(default_factory=dict)
    ranking: Mapping[str, float] = field(default_factory=dict)
    missed: Mapping[str, float] = field(default_factory=dict)


def read_trainer_limits(path: Path | str) -> TrainerLimits:
    """Read limits from a TOML file with a table for each attribute of `TrainerLimits`; a table may be absent.

    Raises
    ------
    DataError
        The file is missing, no TOML, or holds an unknown table or name, or something that is no number.
    """
    with Fields({name: {} for name in (*TABLES, "missed")} | read_toml(path), str(path)) as document:
        missed = document.child("missed")
        tables = {name: _numbers(document.child(name), known) for name, known in TABLES.items()}
        return TrainerLimits(**tables, missed=_numbers(missed, missed.names))


def _numbers(table: Fields, known: Collection[str]) -> dict[str, float]:
    with table:
        return {name: table.number(name, lower=0.0) for name in table.ordered_names if name in known}
