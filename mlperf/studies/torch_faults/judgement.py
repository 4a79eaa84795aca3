"""Rows against the limits that were fixed before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.studies.planted_faults.judgement import common_gates, of_repeats, with_savings
from mlperf.studies.planted_faults.kept import gates_frame, kept_rows
from mlperf.studies.torch_faults.campaign import CLEAN
from mlperf.studies.torch_faults.protocol import TorchProtocol


@dataclass(frozen=True, slots=True, eq=False)
class TorchJudgement:
    """Gates and every row.

    Attributes
    ----------
    gates : DataFrame
        ``gate, value, limit, met``.
    runs : DataFrame
        One row a run of the protocol: ``run, cause``, how often the advice was right of ``n`` (``ours``), TraceML's verdicts and
        how often they were (``verdicts, theirs``), and medians over the repeats: ``step_s, mended_s, saved_s, measured_s, error,
        sampled_error``.
    rows : DataFrame
        As kept.
    """

    gates: pd.DataFrame
    runs: pd.DataFrame
    rows: pd.DataFrame


def judge_torch_faults(protocol: TorchProtocol, kept: Path) -> TorchJudgement:
    """Judge the rows that are kept.

    Raises
    ------
    DataError
        A run or a repeat is missing.
    """
    rows = kept_rows(kept, "make_torch_faults.py", protocol.runs, protocol.repeats)
    rows = with_savings(rows, {name: run.cause for name, run in protocol.runs.items()})
    rows["ours_right"] = rows["cause"] == rows["wanted"]
    rows["theirs_right"] = [row["traceml"] in protocol.runs[row["run"]].traceml for row in rows.to_dict("records")]
    runs = pd.DataFrame([_run(str(name), own) for name, own in rows.groupby("run", sort=False)])
    return TorchJudgement(_gates(protocol, rows, runs), runs, rows)


def _run(name: str, own: pd.DataFrame) -> dict[str, object]:
    """One run of the protocol over its repeats."""
    found: dict[str, object] = {"run": name, "cause": own["wanted"].iloc[0] or "no hint", "n": len(own)}
    found |= {"ours": int(own["ours_right"].sum()), "theirs": int(own["theirs_right"].sum())}
    found["verdicts"] = ", ".join(sorted(set(own["traceml"]))) or "not run"
    return found | of_repeats(own, is_clean=name in CLEAN)


def _gates(protocol: TorchProtocol, rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """All limits."""
    found = common_gates(rows, runs, CLEAN, protocol.limits)
    beaten = float((rows["theirs_right"] & ~rows["ours_right"]).sum())
    found.insert(2, ("runs that TraceML judges right and the advice does not", beaten, 0.0))
    return gates_frame(found)
