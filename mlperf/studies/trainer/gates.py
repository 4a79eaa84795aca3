"""What is asked of predictions, beside what was reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.protocols import KERNELS, LEFT_OUT, NODES, ONE
from mlperf.studies.trainer.scores import EVERY, JUDGED

WAITS = ("barrier_wait_s", "lock_weights_gpu_s", "lock_gradient_gpu_s")
"""Waits that the paper's equations miss: spread of the nodes' own work, GPUs in one burst, a buffer that was just emptied."""

NEARER, PAPERS = "phases", "paper"


@dataclass(frozen=True, slots=True)
class Gate:
    """One thing asked: what, the value reached, and the least and the most that it may be."""

    gate: str
    value: float
    most: float
    least: float = 0.0

    @property
    def met(self) -> bool:
        """Whether the value lies between its limits."""
        return bool(self.least <= self.value <= self.most)


class Gated(Shown):
    """Base of judgements: what was asked, beside what was reached, stands first."""

    __slots__ = ()
    gates: pd.DataFrame

    @property
    def missed(self) -> list[str]:
        """Gates that are not met."""
        return [str(name) for name in self.gates.loc[~self.gates["met"], "gate"]]

    def to_frame(self) -> pd.DataFrame:
        """The gates as a table."""
        return self.gates


def gates_table(gates: Iterable[Gate]) -> pd.DataFrame:
    """Gates as a table.

    Parameters
    ----------
    gates : iterable of Gate
        One a row, in this order.

    Returns
    -------
    DataFrame
        ``gate, value, least, most, met``.
    """
    rows = [(each.gate, each.value, each.least, each.most, each.met) for each in gates]
    return pd.DataFrame(rows, columns=["gate", "value", "least", "most", "met"])


def score_gates(scores: pd.DataFrame, limits: TrainerLimits) -> Iterator[Gate]:
    """Errors by protocol over all nodes, then coverage and width of the intervals by number of nodes.

    Parameters
    ----------
    scores : DataFrame
        Of `mlperf.studies.trainer.scores.score_table`.
    limits : TrainerLimits
        What is asked; fractions, and half-widths in mean errors.
    """
    own = scores[scores["method"] == MODEL]
    # With kernels of further networks the left-out network's gradient is predicted by more than runs: there the limits hold.
    protocol = KERNELS if (own["protocol"] == KERNELS).any() else LEFT_OUT
    asked: Mapping[str, tuple[str, Mapping[str, float]]] = {
        protocol: ("mean_error", limits.network_left_out),
        NODES: ("mean_error", limits.more_nodes),
        ONE: ("median_error", limits.one_network),
    }
    for row in records(own[own["nodes"] == EVERY]):
        column, allowed = asked.get(row["protocol"], ("", {}))
        if row["quantity"] in allowed:
            yield Gate(gate_name(row, column.replace("_", " ")), row[column], allowed[row["quantity"]])
    for row in records(own[(own["nodes"] != EVERY) & own["quantity"].isin(JUDGED)]):
        yield from interval_gates(row, limits.intervals)


def records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows as mappings."""
    for row in table.to_dict("records"):
        yield {str(name): value for name, value in row.items()}


def interval_gates(row: Mapping[str, Any], limits: Mapping[str, float]) -> Iterator[Gate]:
    """Coverage and width of one row of the scores."""
    name = {**row, "protocol": f"{row['protocol']}, {row['nodes']} node{'s' * (row['nodes'] != '1')}"}
    coverage, half_width, error = (float(row[each]) for each in ("coverage", "half_width", "mean_error"))
    if {"least_coverage", "most_coverage"} <= set(limits):
        yield Gate(gate_name(name, "coverage"), coverage, limits["most_coverage"], limits["least_coverage"])
    if "half_widths" in limits:
        yield Gate(gate_name(name, "half-width over mean error"), half_width / error, limits["half_widths"])


def gate_name(row: Mapping[str, Any], what: str) -> str:
    """A gate in words."""
    return f"{row['protocol']}: {row['quantity']}, {what} ({row['machine']})"


def ranking_gates(windows: pd.DataFrame, limits: TrainerLimits) -> Iterator[Gate]:
    """The largest regret of each protocol.

    Parameters
    ----------
    windows : DataFrame
        Of `mlperf.studies.trainer.ranking.rank_windows`.
    limits : TrainerLimits
        ``ranking["regret"]``, a fraction; nothing is asked without it.
    """
    if len(windows) and "regret" in limits.ranking:
        for (protocol, machine), part in windows.groupby(["protocol", "machine"], sort=False):
            name = gate_name({"protocol": protocol, "machine": machine, "quantity": "epoch_s"}, "largest regret in a window")
            yield Gate(name, float(part["regret"].max()), limits.ranking["regret"])


def wait_gates(equations: pd.DataFrame) -> Iterator[Gate]:
    """Waits that the equations compute, against those of the paper's form.

    Parameters
    ----------
    equations : DataFrame
        Of `mlperf.studies.trainer.equations.equation_errors`; only machines all of whose waits are emulated are looked at.
    """
    waited = equations[equations["machine"].str.startswith(ALL_WAITED)]
    errors = waited.set_index(["machine", "quantity", "form"])["mean_error"]
    for machine in waited["machine"].unique():
        for wait in WAITS:
            if {(machine, wait, NEARER), (machine, wait, PAPERS)} <= set(errors.index):
                name = f"equations alone: {wait}, {NEARER} against the paper's form ({machine})"
                yield Gate(name, errors[machine, wait, NEARER], errors[machine, wait, PAPERS])
