"""Rows against the limits that were fixed before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.studies.torch_faults.campaign import CLEAN, DOCUMENT
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
    path = kept / DOCUMENT
    if not path.is_file():
        raise DataError("holds no runs", place=str(kept), hint="python docs/make_torch_faults.py --run")
    rows = pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"])
    counts = rows.groupby("run")["repeat"].nunique()
    for name in protocol.runs:
        if int(counts.get(name, 0)) != protocol.repeats:
            raise DataError(f"{name}: got {int(counts.get(name, 0))} repeats, expected {protocol.repeats}", place=str(path))
    rows["wanted"] = [protocol.runs[name].cause for name in rows["run"]]
    rows["ours_right"] = rows["cause"] == rows["wanted"]
    rows["theirs_right"] = [row["traceml"] in protocol.runs[row["run"]].traceml for row in rows.to_dict("records")]
    rows["sampled_cpu_s"] = pd.to_numeric(rows["sampled_cpu_s"], errors="coerce")
    rows["measured_s"] = rows["step_s"] - rows["mended_s"]
    runs = pd.DataFrame([_run(str(name), own) for name, own in rows.groupby("run", sort=False)])
    return TorchJudgement(_gates(protocol, rows, runs), runs, rows)


def _run(name: str, own: pd.DataFrame) -> dict[str, object]:
    """One run of the protocol over its repeats."""
    found: dict[str, object] = {"run": name, "cause": own["wanted"].iloc[0] or "no hint", "n": len(own)}
    found |= {"ours": int(own["ours_right"].sum()), "theirs": int(own["theirs_right"].sum())}
    found["verdicts"] = ", ".join(sorted(set(own["traceml"]))) or "not run"
    found |= {each: float(own[each].median()) for each in ("step_s", "mended_s")}
    found["sampled_error"] = float((own["sampled_cpu_s"] / own["cpu_s"] - 1).median())
    if name in CLEAN:
        return found | dict.fromkeys(("saved_s", "measured_s", "error"), float("nan"))
    error = (own["saved_s"] - own["measured_s"]).abs() / own["measured_s"]
    return found | {each: float(own[each].median()) for each in ("saved_s", "measured_s")} | {"error": float(error.median())}


def _gates(protocol: TorchProtocol, rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """All limits."""
    limits = protocol.limits
    clean = rows["run"].isin(CLEAN)
    found = [
        ("planted faults that are not the first hint", float((~rows[~clean]["ours_right"]).sum()), 0.0),
        ("hints in clean runs", float((rows[clean]["cause"] != "").sum()), 0.0),
        ("runs that TraceML judges right and the advice does not", float((rows["theirs_right"] & ~rows["ours_right"]).sum()), 0.0),
        ("error of the predicted saving, median over faults", float(runs["error"].median()), limits.gain),
        ("steps found too many or too few", float((rows["n_steps"] - rows["n_logged"]).abs().sum()), 0.0),
        ("mean step against the program's log, largest", float((rows["step_s"] / rows["logged_s"] - 1).abs().max()), limits.step),
        ("share of a step outside its phases, largest", float(rows["unexplained_share"].max()), limits.parts),
        (
            "processor time by samples, largest of the runs' medians",
            float(runs["sampled_error"].abs().max()),
            limits.processor_time,
        ),
    ]
    frame = pd.DataFrame(found, columns=["gate", "value", "limit"])
    return frame.assign(met=frame["value"] <= frame["limit"])
