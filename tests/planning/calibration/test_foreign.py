"""A foreign predictor: planted factors by group come back through files, new rows get them, unknown groups are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mlperf
from mlperf.core.errors import DataError
from mlperf.planning.calibration.foreign import apply_calibration, calibrate_tables

FACTORS = {"a": 1.3, "b": 0.8, "c": 1.0}


def tables(n_rows: int = 30, noise: float = 0.02) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(1)
    keys = pd.DataFrame({"net": rng.permutation(np.repeat(list("abc"), n_rows // 3)), "size": np.arange(n_rows)})
    time_s = rng.uniform(1.0, 9.0, n_rows)
    measured = time_s * keys["net"].map(FACTORS) * np.exp(noise * rng.standard_normal(n_rows))
    return keys.assign(step_s=time_s), keys.assign(step_s=measured)


def test_factors_of_groups_come_back_and_are_applied_from_a_file(tmp_path: Path) -> None:
    predicted, measured = tables()
    found = calibrate_tables(predicted, measured, by=("net",))
    table = found.factors.set_index("net")
    for name, factor in FACTORS.items():
        assert table.loc[name, "factor"] == pytest.approx(factor, rel=0.03)
        assert table.loc[name, "lower_factor"] < factor < table.loc[name, "upper_factor"]
    assert found.fit.error_before > 0.1
    assert found.fit.error_after < 0.03
    assert_allclose(found.rows["calibrated_error"].abs().mean(), found.fit.error_after)
    mlperf.save_model(found, tmp_path / "calibration.json")
    again = mlperf.load_model(tmp_path / "calibration.json", "mlperf-calibration")
    new = pd.DataFrame({"net": ["a", "z"], "step_s": [10.0, 10.0]})
    told = apply_calibration(again, new, output=tmp_path / "new.csv").rows
    assert told["calibrated_step_s"].iloc[0] == pytest.approx(13.0, rel=0.03)
    assert told["in_domain"].tolist() == [True, False]
    width = (told["run_upper_step_s"] / told["run_lower_step_s"]).tolist()
    assert width[1] > 1.5 * width[0]
    assert_allclose(pd.read_csv(tmp_path / "new.csv")["calibrated_step_s"], told["calibrated_step_s"])


def test_groups_that_do_not_differ_are_said_so_and_unmeasured_rows_counted() -> None:
    predicted, measured = tables()
    measured = measured.assign(step_s=1.2 * predicted["step_s"] * np.exp(0.01 * np.random.default_rng(0).standard_normal(30)))
    found = calibrate_tables(predicted, measured.iloc[:20], by=("net",))
    assert found.factors["factor"].iloc[0] == pytest.approx(1.2, rel=0.02)
    assert any("predicted rows that were not measured, and have no say: 10" in note for note in found.notes)


def test_two_groups_say_little_of_a_third() -> None:
    predicted, measured = tables()
    two = measured[measured["net"] != "c"]
    found = calibrate_tables(predicted, two, by=("net",))
    assert any("2 measured of net" in note for note in found.notes)
    assert not any("measured of net" in note for note in calibrate_tables(predicted, measured, by=("net",)).notes)


def test_a_good_predictor_is_left_as_it_is() -> None:
    predicted, _ = tables()
    signs = np.tile([1.1, 1 / 1.1], 15)
    found = calibrate_tables(predicted, predicted.assign(step_s=predicted["step_s"] * signs))
    assert not found.fit.helps
    assert "stay as they are" in found.notes[0]
    assert_allclose(found.rows["calibrated"], found.rows["predicted"])


def test_new_rows_need_the_columns() -> None:
    found = calibrate_tables(*tables(), by=("net",))
    with pytest.raises(DataError, match="expected also 'net'"):
        apply_calibration(found, pd.DataFrame({"step_s": [1.0]}))
    with pytest.raises(DataError, match="expected a number > 0"):
        apply_calibration(found, pd.DataFrame({"net": ["a"], "step_s": [-1.0]}))


@pytest.mark.parametrize(("scale", "told"), [(1000.0, True), (1e-3, True), (1.0, False), (30.0, False)])
def test_values_that_lie_apart_as_units_do_are_told(scale: float, told: bool) -> None:
    rows = pd.DataFrame({"n": [1, 2, 3], "step_s": [1.0, 2.0, 3.0]})
    found = calibrate_tables(rows, rows.assign(step_s=[1.1 * scale, 2.3 * scale, 3.2 * scale]))
    assert any("of one unit?" in note for note in found.notes) is told
