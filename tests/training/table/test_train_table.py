"""From any table to a model: what newcomers met, each as a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.planning.table_prediction import predict_rows
from mlperf.report.pages.model_answers import table_answer
from mlperf.training.table.table_regressor import formula_terms
from mlperf.training.table.train_table import repeats_error
from mlperf.training.table.verdict import verdict

pytestmark = pytest.mark.slow


def law(seed: int = 1, n_rows: int = 200, noise: float = 0.05) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    m, n, k = 2.0 ** rng.integers(3, 9, (3, n_rows))
    return pd.DataFrame(
        {"m": m, "n": n, "k": k, "time_s": (1e-5 + 2e-11 * m * n * k) * np.exp(noise * rng.standard_normal(n_rows))}
    )


def test_a_table_without_a_word_finds_its_law() -> None:
    model = mlperf.train(law(), target="time_s", n_folds=2)
    assert model.fitted.estimator.terms_ == ("I(m * n * k)",)
    assert model.errors.errors.mape < 0.05
    assert model.method == "ols"


def test_one_rare_level_stops_nothing() -> None:
    rows = law().assign(gpu=["C" if i % 2 else "A" for i in range(200)])
    rows.loc[5, "gpu"] = "B"
    rows.loc[rows.gpu == "C", "time_s"] *= 3.0
    model = mlperf.train(rows, target="time_s", terms=["m*n*k", "gpu", "gpu:I(m*n*k)"], n_folds=2)
    assert model.errors.errors.mape < 0.06
    assert any("'B'" in note for note in model.notes)


@pytest.mark.parametrize("n_rows", [3, 5, 8])
def test_a_handful_of_rows_with_a_category_fits(n_rows: int) -> None:
    rows = pd.DataFrame(
        {"size": np.arange(1.0, n_rows + 1), "kind": list("abcabcab")[:n_rows], "time_s": np.arange(1.0, n_rows + 1) ** 1.1}
    )
    model = mlperf.train(rows, target="time_s")
    assert np.isfinite(model.predict(rows)).all()


def test_too_few_rows_or_columns_are_refused_with_the_remedy() -> None:
    with pytest.raises(FitError, match="1 row, expected at least 3"):
        mlperf.train(law().head(1), target="time_s")
    rows = pd.DataFrame({"name": [f"n{i}" for i in range(20)], "time_s": np.arange(1.0, 21.0)})
    with pytest.raises(DataError, match="no column that may explain") as caught:
        mlperf.train(rows, target="time_s")
    assert "name has 20 different texts" in str(caught.value)


def test_a_typing_error_prints_near_names_and_no_frame() -> None:
    with pytest.raises(DataError, match="got no column 'time_S'") as caught:
        mlperf.train(law(), target="time_S")
    assert "time_s" in str(caught.value.hint)
    assert caught.value.place == "table"
    with pytest.raises(DataError, match="got no column 'mm'"):
        mlperf.train(law(), target="time_s", terms="mm*n")


def test_one_term_may_be_a_text() -> None:
    assert mlperf.train(law(), target="time_s", terms="m*n*k", method="ols").fitted.estimator.terms_ == ("I(m * n * k)",)


def test_names_with_blanks_and_units(tmp_path: Path) -> None:
    rows = law().rename(columns={"m": "batch size", "k": "size [KiB]", "time_s": "time (ms)"})
    path = tmp_path / "names.csv"
    rows.to_csv(path, index=False)
    plain = mlperf.train(path, target="time (ms)", duplicates="keep", n_folds=2)
    assert plain.fitted.estimator.terms_ == ("I(`batch size` * n * `size [KiB]`)",)
    by_formula = mlperf.train(
        path, target="time (ms)", formula="`time (ms)` ~ I(`batch size` * n * `size [KiB]`)", duplicates="keep", n_folds=2
    )
    np.testing.assert_allclose(by_formula.predict(rows), plain.predict(rows), rtol=1e-9)


def test_a_target_that_is_no_time_may_be_negative() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.uniform(0, 9, 80), "gain": 0.0})
    rows["gain"] = 2.0 - rows.a + 0.1 * rng.standard_normal(80)
    model = mlperf.train(rows, target="gain", noise="absolute", terms=["a"])
    np.testing.assert_allclose(model.predict(pd.DataFrame({"a": [0.0, 5.0]})), [2.0, -3.0], atol=0.1)
    assert model.errors is None


def test_no_folds_leave_out_each_group() -> None:
    rows = law(2, 60).assign(device=np.repeat(list("abcdef"), 10))
    model = mlperf.train(rows, target="time_s", terms=["m*n*k"], method="ols", groups="device", n_folds=0)
    assert list(model.by_group["n"]) == [10] * 6
    with pytest.raises(UsageError, match="0 folds"):
        mlperf.train(law(3, 1200).assign(x=np.arange(1200.0)), target="time_s", terms=["m*n*k", "x"], n_folds=0)


def test_names_of_methods_and_totals_are_checked() -> None:
    with pytest.raises(UsageError, match="expected one of auto, ols"):
        mlperf.train(law(), target="time_s", method="bosted")
    with pytest.raises(UsageError, match="totals"):
        mlperf.train(law(), target="time_s", totals="some")
    with pytest.raises(UsageError, match="with joined tables"):
        mlperf.train(law(), target="time_s", join=[law()], na="drop")
    with pytest.raises(UsageError, match="both terms and a formula"):
        mlperf.train(law(), target="time_s", terms=["m"], formula="time_s ~ m")


def test_a_formula_must_be_of_the_target() -> None:
    assert formula_terms("time_s ~ a * b", "time_s") == "~ a * b"
    assert formula_terms("`time (ms)` ~ a", "time (ms)") == "~ a"
    with pytest.raises(UsageError, match="expected 'time_s ~"):
        formula_terms("log(time_s) ~ a", "time_s")


@pytest.mark.parametrize("seed", range(3))
def test_the_noise_of_repeats_is_what_the_true_model_errs_by(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.repeat(2.0 ** rng.uniform(3, 9, 400), 3)
    truth = 1e-9 * sizes
    times = truth * np.exp(0.05 * rng.standard_normal(len(truth)))
    told = repeats_error(pd.DataFrame({"size": sizes}), times)
    np.testing.assert_allclose(told, np.mean(np.abs(truth / times - 1.0)), rtol=0.06)
    assert np.isnan(repeats_error(pd.DataFrame({"size": np.arange(9.0)}), np.ones(9)))


@pytest.mark.parametrize("sizes", ["numbers with suffixes", "an empty cell"])
def test_rows_that_differ_in_a_column_that_was_set_aside_are_no_repeats(sizes: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    size = np.round(10.0 ** rng.uniform(0, 3, 60), 1)
    rows = pd.DataFrame({"n": rng.choice([1, 2, 4], 60), "size": size})
    rows["time_s"] = 1e-3 * (size + 5 * rows.n)
    rows["size"] = [f"{value}G" for value in size] if sizes == "numbers with suffixes" else [None, *size[1:]]
    rows.to_csv(tmp_path / "t.csv", index=False)
    assert np.isnan(mlperf.train(tmp_path / "t.csv", target="time_s", method="ols", terms=["n"]).noise_floor)


def test_the_reason_tells_the_error_of_the_first_line_and_why_the_table_differs() -> None:
    model = mlperf.train(law(3, 24, 0.3), target="time_s", n_folds=4)
    nested = f"{model.errors.errors.mape:.1%}"
    own = f"{float(model.methods.set_index('method').loc[model.method, 'mape']):.1%}"
    assert nested != own
    assert f"left-out rows are missed by {nested} where each fold chooses its method without them, by {own} with" in model.reason


def test_least_squares_alone_claims_no_comparison() -> None:
    model = mlperf.train(law(n_rows=40), target="time_s", noise="absolute", terms=["m*n*k"])
    assert model.reason == "Least squares: no other method is compared where absolute errors are made small (--noise absolute)."


def test_a_target_with_negative_values_says_why_no_error_is_told() -> None:
    rows = law(n_rows=40).assign(change=lambda frame: frame.time_s - frame.time_s.mean()).drop(columns="time_s")
    model = mlperf.train(rows, target="change", noise="absolute", method="log")
    assert model.reason.endswith("so that log is not used.")
    told = verdict(model)
    assert "is not told in percent: some values of the target are <= 0" in told
    assert "Measure at least" not in told
    assert "not told in percent" in str(table_answer(model))


def test_a_size_of_the_measurements_is_named_beside_feature_tables() -> None:
    """Rows of one kernel in other sizes are no repeats, though the features are equal."""
    rng = np.random.default_rng(12)
    counts = pd.DataFrame({"kernel": [f"k{number}" for number in range(15)], "fma": rng.integers(100, 9000, 15)})
    times = pd.DataFrame({"kernel": rng.choice(counts.kernel, 70), "size": 2 ** rng.integers(3, 10, 70), "round": 1})
    times["checksum"] = rng.uniform(0.0, 1.0, 70)
    work = times["size"] * times.kernel.map(counts.set_index("kernel").fma)
    times["time_s"] = (1e-6 + 1e-9 * work) * np.exp(0.05 * rng.standard_normal(70))
    asked = {"target": "time_s", "join": [counts], "method": "ols", "report": "none", "duplicates": "keep"}
    model = mlperf.train(times, **asked)
    assert [item.name for item in model.set_aside] == ["size"]
    assert "(--terms)" in model.set_aside[0].reason
    assert "Name what the measurements have themselves (size) in --terms." in verdict(model)
    assert not model.noise_floor > 0.1
    named = mlperf.train(times, terms=["size*fma"], **asked)
    assert (named.set_aside, named.errors.errors.mape < 0.1) == ((), True)
    rows = predict_rows(named, times.iloc[:2], join=[counts])
    assert np.isfinite(rows.predicted).all()
