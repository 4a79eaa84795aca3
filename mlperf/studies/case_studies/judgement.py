"""Rows against the limits that were fixed before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.studies.case_studies.protocol import CaseProtocol
from mlperf.studies.planted_faults.kept import gates_frame, kept_rows

SETTING = ["series", "n_cores", "n_workers"]


@dataclass(frozen=True, slots=True, eq=False)
class CaseJudgement:
    """Gates, the figure's numbers, and every row.

    Attributes
    ----------
    gates : DataFrame
        ``gate, value, limit, met``.
    settings : DataFrame
        One row a series and setting, medians over the repeats: ``samples_per_s, synthetic_samples_per_s`` (measured),
        ``lost_share, lost_devices`` (measured), ``predicted_samples_per_s, predicted_lower, predicted_upper,
        predicted_lost_devices`` (from runs recorded with other settings; NaN where there is none).
    rows : DataFrame
        As kept, with ``error`` of the throughput and ``is_new``: not the setting that was recorded.
    """

    gates: pd.DataFrame
    settings: pd.DataFrame
    rows: pd.DataFrame


def judge_case_studies(protocol: CaseProtocol, kept: Path) -> CaseJudgement:
    """Judge the rows that are kept.

    Raises
    ------
    DataError
        A series or a repeat is missing.
    """
    rows = kept_rows(kept, "make_case_studies.py", protocol.series, protocol.repeats, key="series")
    is_same = (rows["recorded_cores"] == rows["n_cores"]) & (rows["recorded_workers"] == rows["n_workers"])
    rows = rows.assign(
        is_new=~is_same,
        error=rows["measured_s"] / rows["step_s"] - 1,
        measured_lost_devices=protocol.n_devices * (1 - rows["synthetic_s"] / rows["measured_s"]),
        is_covered=(rows["step_lower_s"] <= rows["measured_s"]) & (rows["measured_s"] <= rows["step_upper_s"]),
    )
    settings = pd.DataFrame([_setting(protocol, own) for _, own in rows.groupby(SETTING, sort=False)])
    return CaseJudgement(_gates(protocol, rows), settings, rows)


def _setting(protocol: CaseProtocol, own: pd.DataFrame) -> dict[str, object]:
    """One setting over the repeats."""
    first = own.iloc[0]
    batch = protocol.series[str(first["series"])].batch
    new = own[own["is_new"]]
    lost = float(own["measured_lost_devices"].median())
    return {
        **{name: first[name] for name in SETTING},
        "samples_per_s": batch / float(own["measured_s"].median()),
        "synthetic_samples_per_s": batch / float(own["synthetic_s"].median()),
        "lost_share": lost / protocol.n_devices,
        "lost_devices": lost,
        "predicted_samples_per_s": batch / float(new["step_s"].median()),
        "predicted_lower": batch / float(new["step_upper_s"].median()),
        "predicted_upper": batch / float(new["step_lower_s"].median()),
        "predicted_lost_devices": float(new["lost_devices"].median()),
    }


def _gates(protocol: CaseProtocol, rows: pd.DataFrame) -> pd.DataFrame:
    """All limits."""
    limits, new = protocol.limits, rows[rows["is_new"]]
    error = new["error"].abs()
    lost = (new["lost_devices"] - new["measured_lost_devices"]).abs()
    found = [
        ("error of the predicted throughput, median", float(error.median()), limits.throughput),
        ("error of the predicted throughput, largest", float(error.max()), limits.largest),
        ("error of the devices lost, median", float(lost.median()), limits.lost_devices),
        ("predictions outside their intervals", 1 - float(new["is_covered"].mean()), 1 - limits.covered),
        ("runs with the fewest whose first hint is another", float(_wrong_hints(protocol, rows)), limits.wrong_hints),
    ]
    return gates_frame(found, tolerance=1e-12)


def _wrong_hints(protocol: CaseProtocol, rows: pd.DataFrame) -> int:
    """Runs recorded with the fewest cores or workers whose first hint is not the series' own."""
    wrong = 0
    for name, series in protocol.series.items():
        own = rows[rows["series"] == name]
        n_cores, workers = own.iloc[0][["recorded_cores", "recorded_workers"]]
        fewest = own[(own["recorded_cores"] == n_cores) & (own["recorded_workers"] == workers)].groupby("repeat")["hint"].first()
        wrong += int((fewest != series.hint).sum()) if series.hint else 0
    return wrong
