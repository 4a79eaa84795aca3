"""Rows against the limits that were fixed before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.studies.planted_faults.campaign import DOCUMENT
from mlperf.studies.planted_faults.protocol import CLEAN, CPP, OF_RING, FaultProtocol


@dataclass(frozen=True, slots=True, eq=False)
class FaultJudgement:
    """Gates and every row.

    Attributes
    ----------
    gates : DataFrame
        ``gate, value, limit, met``.
    faults : DataFrame
        One row a run of the protocol: ``run, cause``, ``named_first`` and ``n``, and medians over the repeats: ``step_s, mended_s,
        saved_s, measured_s`` (step less mended), ``error`` (of the saving, relative to the measured), ``naive_error``, ``covered``
        (share of repeats whose interval holds the measured saving), ``sampled_error`` (processor time by samples, relative).
    rows : DataFrame
        As kept.
    not_run : tuple of str
        Runs over rings and with a decoder in C++, later asked for by the protocol than the others, that nobody made.
    """

    gates: pd.DataFrame
    faults: pd.DataFrame
    rows: pd.DataFrame
    not_run: tuple[str, ...] = ()


def judge_faults(protocol: FaultProtocol, kept: Path) -> FaultJudgement:
    """Judge the rows that are kept.

    Raises
    ------
    DataError
        A run or a repeat is missing.
    """
    path = kept / DOCUMENT
    if not path.is_file():
        raise DataError("holds no runs", place=str(kept), hint="python docs/make_planted_faults.py --run")
    rows = pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"])
    counts = rows.groupby("run")["repeat"].nunique()
    later = (name for name in protocol.causes if name in OF_RING or name.startswith(CPP))
    not_run = tuple(name for name in later if name not in counts)
    for name in (name for name in protocol.causes if name not in not_run):
        if int(counts.get(name, 0)) != protocol.repeats:
            raise DataError(f"{name}: got {int(counts.get(name, 0))} repeats, expected {protocol.repeats}", place=str(path))
    rows["wanted"] = rows["run"].map(dict(protocol.causes))
    rows["sampled_cpu_s"] = pd.to_numeric(rows["sampled_cpu_s"], errors="coerce")
    rows["measured_s"] = rows["step_s"] - rows["mended_s"]
    faults = pd.DataFrame([_fault(str(name), own) for name, own in rows.groupby("run", sort=False)])
    return FaultJudgement(_gates(protocol, rows, faults), faults, rows, not_run)


def _fault(name: str, own: pd.DataFrame) -> dict[str, object]:
    """One run of the protocol over its repeats."""
    right = own["cause"] == own["wanted"]
    found: dict[str, object] = {
        "run": name,
        "cause": own["wanted"].iloc[0] or "no hint",
        "named_first": int(right.sum()),
        "n": len(own),
    }
    found |= {each: float(own[each].median()) for each in ("step_s", "mended_s")}
    found["sampled_error"] = float((own["sampled_cpu_s"] / own["cpu_s"] - 1).median())
    if name in CLEAN:
        return found | dict.fromkeys(("saved_s", "measured_s", "error", "naive_error", "covered"), float("nan"))
    covered = (own["saved_lower_s"] <= own["measured_s"]) & (own["measured_s"] <= own["saved_upper_s"])
    errors = ((own[each] - own["measured_s"]).abs() / own["measured_s"] for each in ("saved_s", "naive_s"))
    error, naive = (float(each.median()) for each in errors)
    medians = {each: float(own[each].median()) for each in ("saved_s", "measured_s")}
    return found | medians | {"error": error, "naive_error": naive, "covered": float(covered.mean())}


def _gates(protocol: FaultProtocol, rows: pd.DataFrame, faults: pd.DataFrame) -> pd.DataFrame:
    """All limits."""
    limits = protocol.limits
    planted = faults[~faults["run"].isin(CLEAN)]
    clean = rows[rows["run"].isin(CLEAN)]
    wrong = int((rows[~rows["run"].isin(CLEAN)]["cause"] != rows[~rows["run"].isin(CLEAN)]["wanted"]).sum())
    alone = rows[rows["run"] == "none"]
    overhead = float(np.exp(np.log(alone["logged_s"] / alone["mended_s"]).mean()) - 1)
    found = [
        ("planted faults that are not the first hint", float(wrong), 0.0),
        ("hints in clean runs", float((clean["cause"] != "").sum()), 0.0),
        ("error of the predicted saving, median over faults", float(planted["error"].median()), limits.gain),
        ("steps found too many or too few", float((rows["n_steps"] - rows["n_logged"]).abs().sum()), 0.0),
        ("mean step against the program's log, largest", float((rows["step_s"] / rows["logged_s"] - 1).abs().max()), limits.step),
        ("share of a step outside its phases, largest", float(rows["unexplained_share"].max()), limits.parts),
        (
            "processor time by samples, largest of the runs' medians",
            float(faults["sampled_error"].abs().max()),
            limits.processor_time,
        ),
        ("step with the recorder against without", overhead, limits.overhead),
        ("what is not known of the clocks, ns", float(rows["clock_uncertainty_ns"].max()), float(limits.clock_ns)),
    ]
    frame = pd.DataFrame(found, columns=["gate", "value", "limit"])
    return frame.assign(met=frame["value"] <= frame["limit"])
