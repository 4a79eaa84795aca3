"""Rows made by hand, judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.case_studies.judgement import judge_case_studies
from mlperf.studies.case_studies.protocol import read_case_protocol

READ = read_case_protocol(Path(__file__).parents[2] / "acceptance" / "case_studies.toml")
PROTOCOL = replace(READ, repeats=1, series={"storage": READ.series["storage"]})


def row(recorded: int, workers: int, **others: object) -> dict[str, object]:
    """A setting that is predicted right: one worker loses half of eight devices."""
    step = 0.1 / workers
    found = {
        "series": "storage",
        "repeat": 0,
        "recorded_cores": 2,
        "recorded_workers": recorded,
        "n_cores": 2,
        "n_workers": workers,
    }
    times = {"step_s": step, "step_lower_s": 0.9 * step, "step_upper_s": 1.1 * step, "measured_s": step, "synthetic_s": 0.05}
    return found | times | {"hint": "input", "lost_devices": 8 * (1 - 0.05 / step)} | others


def test_settings_that_were_recorded_are_not_judged(tmp_path: Path) -> None:
    rows = [row(1, 1, measured_s=9.0), row(1, 2)]
    (tmp_path / "runs.json").write_text(json.dumps({"rows": rows}))
    found = judge_case_studies(PROTOCOL, tmp_path)
    assert found.gates["met"].all()
    assert found.rows["is_new"].tolist() == [False, True]
    two = found.settings.set_index("n_workers").loc[2]
    assert two["samples_per_s"] == pytest.approx(64 / 0.05)
    assert two["lost_devices"] == pytest.approx(0.0)
    assert two["predicted_samples_per_s"] == pytest.approx(64 / 0.05)


def test_errors_intervals_losses_and_hints(tmp_path: Path) -> None:
    rows = [row(1, 1, hint="pause"), row(1, 2, measured_s=0.06, hint="pause")]
    (tmp_path / "runs.json").write_text(json.dumps({"rows": rows}))
    gates = judge_case_studies(PROTOCOL, tmp_path).gates
    assert gates["value"].tolist() == pytest.approx([0.2, 0.2, 8 / 6, 1.0, 1.0])
    assert gates["met"].tolist() == [False, True, False, False, False]


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="make_case_studies"):
        judge_case_studies(PROTOCOL, tmp_path)
    (tmp_path / "runs.json").write_text(json.dumps({"rows": [row(1, 1)]}))
    with pytest.raises(DataError, match="storage: got 1 repeats, expected 5"):
        judge_case_studies(replace(PROTOCOL, repeats=5), tmp_path)
