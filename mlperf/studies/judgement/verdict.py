"""What the protocol asks, beside what was reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from mlperf.studies.judgement.scores import asked_errors
from mlperf.studies.trainer.gates import Gate, gates_table, interval_gates, records
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.protocols import LEFT_OUT, NODES, ONE
from mlperf.studies.trainer.scores import EVERY, JUDGED

REGRET = "windows: mean regret of the choice"
ALL = "all machines"


def verdict_table(
    errors: pd.DataFrame, intervals: pd.DataFrame, windows: pd.DataFrame, untold: Mapping[str, bool], limits: TrainerLimits
) -> pd.DataFrame:
    """Every limit and whether it is met.

    Parameters
    ----------
    errors, intervals, windows : DataFrame
        Of `mlperf.studies.judgement.scores.error_table`, `mlperf.studies.judgement.scores.interval_table` and
        `mlperf.studies.judgement.windows.window_table`.
    untold : mapping of str to bool
        By machine: whether the model says that the rows of *more nodes* leave the form of the exchange open.
    limits : TrainerLimits
        What is asked.

    Returns
    -------
    DataFrame
        ``gate, value, least, most, met, instead``: what a missed error of *more nodes* holds by in place of its limit, else empty.
    """
    parts = [error_gates(errors, intervals, untold, limits)]
    if len(windows) and "regret" in limits.ranking:
        regret = windows.loc[windows["method"] == MODEL, "regret"].mean()
        parts.append(gates_table([Gate(REGRET, float(regret), limits.ranking["regret"])]))
    parts.append(gates_table(coverage_gates(intervals, limits)))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    return table.assign(instead=table["instead"].fillna(""))


def error_gates(errors: pd.DataFrame, intervals: pd.DataFrame, untold: Mapping[str, bool], limits: TrainerLimits) -> pd.DataFrame:
    """Mean errors, with the rule that stands in for the limit of *more nodes*.

    Parameters
    ----------
    errors, intervals : DataFrame
        Of `mlperf.studies.judgement.scores.error_table` and `mlperf.studies.judgement.scores.interval_table`.
    untold : mapping of str to bool
        By machine: whether the model says that its rows leave the form of the exchange open.
    limits : TrainerLimits
        What is asked; fractions.

    Returns
    -------
    DataFrame
        ``gate, value, least, most, met, instead``, one row a limit.
    """
    asked = {LEFT_OUT: limits.network_left_out, NODES: limits.more_nodes, ONE: limits.one_network}
    covered = intervals[intervals["nodes"] == EVERY].set_index(["protocol", "machine", "quantity"])["coverage"]
    gates, instead = [], []
    for row in records(asked_errors(errors)):
        if row["quantity"] not in asked[row["protocol"]]:
            continue
        machine = ALL if row["machine"] == EVERY else row["machine"]
        name = f"{row['protocol']}: {row['quantity']}, error ({machine})"
        gates.append(Gate(name, row["error"], asked[row["protocol"]][row["quantity"]]))
        share = covered.get((row["protocol"], row["machine"], row["quantity"]), 0.0)
        holds = row["protocol"] == NODES and untold[row["machine"]] and share >= limits.intervals["least_coverage"]
        instead.append(f"form of the exchange not told, {100.0 * share:.0f} % covered" if holds and not gates[-1].met else "")
    table = gates_table(gates).assign(instead=instead)
    return table.assign(met=table["met"] | (table["instead"] != ""))


def coverage_gates(intervals: pd.DataFrame, limits: TrainerLimits) -> Iterator[Gate]:
    """Coverage and width at every number of nodes, the machines together; of *one network* only the least coverage.

    Parameters
    ----------
    intervals : DataFrame
        Of `mlperf.studies.judgement.scores.interval_table`.
    limits : TrainerLimits
        What is asked; fractions, and half-widths in mean errors.
    """
    together = intervals[(intervals["machine"] == EVERY) & (intervals["nodes"] != EVERY) & intervals["quantity"].isin(JUDGED)]
    for row in records(together):
        one = row["protocol"] == ONE
        asked = {"least_coverage": limits.intervals["least_coverage"], "most_coverage": 1.0} if one else limits.intervals
        yield from interval_gates({**row, "machine": ALL}, asked)
