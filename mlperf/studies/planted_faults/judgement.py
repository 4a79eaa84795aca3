"""Rows against the limits that were fixed before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.studies.planted_faults.kept import gates_frame, kept_rows
from mlperf.studies.planted_faults.protocol import CLEAN, CPP, OF_RING, ErrorLimits, FaultProtocol


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
    later = [name for name in protocol.causes if name in OF_RING or name.startswith(CPP)]
    kept_ones = kept_rows(kept, "make_planted_faults.py", protocol.causes, protocol.repeats, later=later)
    rows = with_savings(kept_ones, protocol.causes)
    not_run = tuple(name for name in later if name not in set(rows["run"]))
    faults = pd.DataFrame([_fault(str(name), own) for name, own in rows.groupby("run", sort=False)])
    return FaultJudgement(_gates(protocol, rows, faults), faults, rows, not_run)


def with_savings(rows: pd.DataFrame, causes: Mapping[str, str]) -> pd.DataFrame:
    """The rows with the cause that the first hint must name, ``wanted``, and what the fault's removal saved, ``measured_s``."""
    return rows.assign(
        wanted=rows["run"].map(dict(causes)),
        sampled_cpu_s=pd.to_numeric(rows["sampled_cpu_s"], errors="coerce"),
        measured_s=rows["step_s"] - rows["mended_s"],
    )


def of_repeats(own: pd.DataFrame, *, is_clean: bool) -> dict[str, object]:
    """Medians over the repeats of a run: steps, savings and errors; no savings where it has no fault."""
    found: dict[str, object] = {each: float(own[each].median()) for each in ("step_s", "mended_s")}
    found["sampled_error"] = float((own["sampled_cpu_s"] / own["cpu_s"] - 1).median())
    if is_clean:
        return found | dict.fromkeys(("saved_s", "measured_s", "error"), float("nan"))
    medians = {each: float(own[each].median()) for each in ("saved_s", "measured_s")}
    return found | medians | {"error": saving_error(own, "saved_s")}


def saving_error(own: pd.DataFrame, name: str) -> float:
    """Relative error of a predicted saving, median over the repeats."""
    return float(((own[name] - own["measured_s"]).abs() / own["measured_s"]).median())


def _fault(name: str, own: pd.DataFrame) -> dict[str, object]:
    """One run of the protocol over its repeats."""
    right = int((own["cause"] == own["wanted"]).sum())
    found = {"run": name, "cause": own["wanted"].iloc[0] or "no hint", "named_first": right, "n": len(own)}
    found |= of_repeats(own, is_clean=name in CLEAN)
    if name in CLEAN:
        return found | dict.fromkeys(("naive_error", "covered"), float("nan"))
    covered = (own["saved_lower_s"] <= own["measured_s"]) & (own["measured_s"] <= own["saved_upper_s"])
    return found | {"naive_error": saving_error(own, "naive_s"), "covered": float(covered.mean())}


def common_gates(
    rows: pd.DataFrame, runs: pd.DataFrame, clean: Sequence[str], limits: ErrorLimits
) -> list[tuple[str, float, float]]:
    """Gate, value and limit of what runs with planted faults are judged by; ``clean`` are runs without any."""
    is_clean = rows["run"].isin(clean)
    unnamed = float((rows[~is_clean]["cause"] != rows[~is_clean]["wanted"]).sum())
    of_step = float((rows["step_s"] / rows["logged_s"] - 1).abs().max())
    sampled = float(runs["sampled_error"].abs().max())
    return [
        ("planted faults that are not the first hint", unnamed, 0.0),
        ("hints in clean runs", float((rows[is_clean]["cause"] != "").sum()), 0.0),
        ("error of the predicted saving, median over faults", float(runs["error"].median()), limits.gain),
        ("steps found too many or too few", float((rows["n_steps"] - rows["n_logged"]).abs().sum()), 0.0),
        ("mean step against the program's log, largest", of_step, limits.step),
        ("share of a step outside its phases, largest", float(rows["unexplained_share"].max()), limits.parts),
        ("processor time by samples, largest of the runs' medians", sampled, limits.processor_time),
    ]


def _gates(protocol: FaultProtocol, rows: pd.DataFrame, faults: pd.DataFrame) -> pd.DataFrame:
    """All limits."""
    limits = protocol.limits
    alone = rows[rows["run"] == "none"]
    overhead = float(np.exp(np.log(alone["logged_s"] / alone["mended_s"]).mean()) - 1)
    return gates_frame(
        [
            *common_gates(rows, faults, CLEAN, limits),
            ("step with the recorder against without", overhead, limits.overhead),
            ("what is not known of the clocks, ns", float(rows["clock_uncertainty_ns"].max()), float(limits.clock_ns)),
        ]
    )
