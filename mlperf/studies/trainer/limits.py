"""What may be asked of the equations: limits from a TOML file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from mlperf.core.json_fields import Fields
from mlperf.specs.network.toml import read_toml
from mlperf.systems.sprint.outputs import OUTPUTS

RANKED = ("pairs in wrong order beyond noise", "regret")


@dataclass(frozen=True, slots=True)
class TrainerLimits:
    """Largest values allowed, by table of the file and name; what has no limit is not judged.

    Attributes
    ----------
    held_out_nodes, other_networks : mapping of str to float
        Mean relative error by quantity: fitted on fewer nodes, and fitted on another network.
    repeats : mapping of str to float
        By quantity, what an error on held-out nodes may be in any case: this many times the mean difference between repeats.
    ranking : mapping of str to float
        Of `RANKED`, a number of pairs and a fraction.
    """

    held_out_nodes: Mapping[str, float] = field(default_factory=dict)
    repeats: Mapping[str, float] = field(default_factory=dict)
    other_networks: Mapping[str, float] = field(default_factory=dict)
    ranking: Mapping[str, float] = field(default_factory=dict)


def read_trainer_limits(path: Path | str) -> TrainerLimits:
    """Read limits from a TOML file with a table for each attribute of `TrainerLimits`; a table may be absent.

    Raises
    ------
    DataError
        The file is missing, no TOML, or holds an unknown table or name, or something that is no number.
    """
    tables = {each.name: {} for each in fields(TrainerLimits)} | read_toml(path)
    with Fields(tables, str(path)) as document:
        return TrainerLimits(
            _numbers(document.child("held_out_nodes"), OUTPUTS),
            _numbers(document.child("repeats"), OUTPUTS),
            _numbers(document.child("other_networks"), OUTPUTS),
            _numbers(document.child("ranking"), RANKED),
        )


def _numbers(table: Fields, known: Collection[str]) -> dict[str, float]:
    with table:
        return {name: table.number(name, lower=0.0) for name in table.ordered_names if name in known}
