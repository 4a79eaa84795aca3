"""The calibration task on rows of the same form as the open ones: counts, and that no row is calibrated on itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.studies.open_data.calibrated import PER_LAYOUT, SUBJECT, UNCALIBRATED, predictor_rows, score_calibration

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models of two layouts, three rows each; the layout decides the error."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(m, n, p) for m in "ab" for p in ("tp1", "tp2") for n in (4, 8, 32)], columns=["model", "n_micro_batches", "parallel"]
    )
    error = frame["model"].map({"a": 4.0, "b": -4.0}) + frame["parallel"].map({"tp1": 5.0, "tp2": -5.0})
    (tmp_path / "simumax").mkdir()
    rows = frame.assign(memory_error_percent=0.0, tflops_error_percent=error + 0.3 * rng.standard_normal(12))
    rows.to_csv(tmp_path / "simumax" / "a100_pcie.csv", index=False)
    return tmp_path


def test_ratios_follow_from_the_published_errors(folder: Path) -> None:
    rows = predictor_rows(folder)
    published = pd.read_csv(folder / "simumax" / "a100_pcie.csv")["tflops_error_percent"]
    assert rows["predicted"].to_numpy() == pytest.approx(100.0 / (100.0 + published))
    assert (rows["measured"] == 1.0).all()


def test_rows_left_out_keep_their_layout_and_layouts_left_out_do_not(folder: Path) -> None:
    found = {one.what: one.value for one in score_calibration(SUBJECT, folder).findings}
    assert found[f"{PER_LAYOUT}: MAPE"] < 0.01
    assert found[f"{UNCALIBRATED}: MAPE"] == pytest.approx(0.05, abs=0.01)
    assert found["layouts left out: MAPE"] > 3.0 * found[f"{PER_LAYOUT}: MAPE"]
    assert 10 <= found[f"{PER_LAYOUT}: rows of 12 inside their 95 % interval"] <= 12
