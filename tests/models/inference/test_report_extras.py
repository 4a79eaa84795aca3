"""Blocks after a selection as the estimator offers them: on, off, refused with a reason, stored, and used by intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import UsageError
from mlperf.models import StepwiseOLS
from mlperf.models.inference.report_extras import wanted_extras
from mlperf.models.storage.store import model_from_json, model_to_json
from mlperf.models.validation.folds import grouped_folds

pytestmark = pytest.mark.slow


def table(seed: int = 0, n: int = 120, p: int = 6) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.lognormal(0.0, 1.0, (n, p)), columns=[f"c{i}" for i in range(p)])
    frame["kind"] = rng.choice(["u", "v", "w"], n)
    time_s = (1.0 + 2.0 * frame["c0"] + 0.5 * (frame["kind"] == "v")) * rng.lognormal(0.0, 0.1, n)
    return frame, time_s.to_numpy()


def test_all_three_are_on_by_default_and_off_by_one_flag() -> None:
    frame, time_s = table()
    report = StepwiseOLS(noise="relative").fit(frame, time_s).report_
    assert list(report.selection.columns) == ["p_selective", "lower", "upper", "inclusion", "boot_lower", "boot_upper"]
    assert report.selection.loc["(Intercept)", "inclusion"] == 1.0
    assert report.selection.loc["c0", "inclusion"] == 1.0
    assert report.selection.notna().all().all()
    kinds = report.selection.loc[[name for name in report.names if name.startswith("kind")], "inclusion"]
    assert kinds.nunique() == 1
    assert "p (selective)" in report.text()
    assert "kept" in report.text()
    assert report.nested_cv.errors.mape > 0.05
    quiet = StepwiseOLS(noise="relative", report="none").fit(frame, time_s).report_
    assert quiet.selective is None
    assert quiet.stability is None
    assert quiet.nested_cv is None
    assert quiet.p_selective is None
    one = StepwiseOLS(report=["nested_cv"]).fit(frame, time_s).report_
    assert one.nested_cv is not None
    assert one.stability is None


def test_selective_p_values_belong_to_their_coefficients() -> None:
    """A strong and many weak terms: the strong one keeps its tiny p, no p is below its naive one by more than rounding."""
    frame, time_s = table(3)
    report = StepwiseOLS().fit(frame.drop(columns="kind"), time_s).report_
    naive = report.inference.p_value
    assert report.p_selective is not None
    assert report.p_selective[list(report.names).index("c0")] < 1e-6
    assert (report.p_selective >= 0.5 * naive).all()


def test_a_stored_report_keeps_the_blocks() -> None:
    frame, time_s = table()
    model = StepwiseOLS(noise="relative").fit(frame, time_s)
    text = model_to_json(model)
    again = model_from_json(text)
    pd.testing.assert_frame_equal(again.report_.selection, model.report_.selection)
    assert again.report_.nested_cv.rmse == model.report_.nested_cv.rmse
    assert again.report_.stability.models == model.report_.stability.models
    assert model_to_json(again) == text
    assert len(text) <= 64 * 1024
    interval, other = (item.predict_interval(frame, kind="run") for item in (model, again))
    np.testing.assert_array_equal(interval.upper, other.upper)


def test_a_wide_linear_model_stays_below_64_kilobytes() -> None:
    rng = np.random.default_rng(0)
    X = rng.lognormal(0.0, 1.0, (443, 30))
    model = StepwiseOLS().fit(X, X.sum(axis=1) + rng.standard_normal(443))
    assert model.rank_ == 31
    assert len(model_to_json(model)) <= 64 * 1024


def test_columns_that_depend_on_other_terms_get_a_reason_not_a_number() -> None:
    """Without a constant the first factor has all its levels; when it leaves, the next is coded anew."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.choice(["p", "q"], 80), "b": rng.choice(["r", "s", "t"], 80), "c": rng.standard_normal(80)})
    frame["y"] = frame["c"] + 0.8 * (frame["b"] == "s") + 0.3 * rng.standard_normal(80)
    report = StepwiseOLS.from_formula("y ~ a + b + c - 1", frame).report_
    assert report.identity.terms == ("b", "c")
    assert report.stability is None
    assert report.nested_cv is None
    assert "depend on the other terms" in report.reasons["stability"]
    assert report.selective is None


def test_what_would_take_long_is_left_out_unless_named() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6000, 40)), rng.standard_normal(6000)
    report = StepwiseOLS().fit(X, y).report_
    assert report.nested_cv is not None
    assert report.stability is None
    assert "name it in report=" in report.reasons["stability"]


def test_intervals_of_runs_leave_out_groups() -> None:
    """Groups with their own offset: intervals from single left-out rows are too short, those from left-out groups are not."""
    hits: dict[str, list[Any]] = {"rows": [], "groups": []}
    for seed in range(25):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(40), 6)
        level = np.repeat(rng.standard_normal((40, 5)), 6, axis=0)
        X = level + 0.05 * rng.standard_normal((240, 5))
        y = (20.0 + X[:, 0]) * np.exp(0.1 * np.repeat(rng.standard_normal(40), 6) + 0.02 * rng.standard_normal(240))
        fold = grouped_folds(group, 4, seed)[0]
        for name, kept in (("rows", None), ("groups", group[fold.train])):
            model = StepwiseOLS(noise="relative", report=["nested_cv"]).fit(X[fold.train], y[fold.train], groups=kept)
            interval = model.predict_interval(X[fold.test], kind="run")
            hits[name].append((interval.lower <= y[fold.test]) & (y[fold.test] <= interval.upper))
    assert np.mean(np.concatenate(hits["groups"])) == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize(("n", "p"), [(60, 30), (40, 20)])
def test_runs_are_covered_after_a_selection_from_few_rows(n: int, p: int) -> None:
    """Textbook intervals of the selected model cover 84.5 % here, those with the full model's sigma 90 %."""
    rng = np.random.default_rng(p)
    hits = []
    for _ in range(50):
        X = rng.standard_normal((n + 20, p))
        y = 0.5 * X[:, : p // 3].sum(axis=1) + rng.standard_normal(n + 20)
        interval = StepwiseOLS(report=["nested_cv"]).fit(X[:n], y[:n]).predict_interval(X[n:], kind="run")
        hits.append((interval.lower <= y[n:]) & (y[n:] <= interval.upper))
    assert 0.925 <= np.mean(hits) <= 0.98


def test_unknown_blocks_are_refused() -> None:
    with pytest.raises(UsageError, match="nested_cv"):
        wanted_extras(["everything"])
    assert wanted_extras("auto") == ("selective", "stability", "nested_cv")
    assert wanted_extras("none") == ()


def test_models_of_the_same_rows_share_their_resamples() -> None:
    """Two times measured in the same runs: their errors are correlated, and so are the stored draws, after reloading too."""
    rng = np.random.default_rng(1)
    X = rng.lognormal(0.0, 1.0, (90, 3))
    shared = rng.standard_normal(90)
    times = [10.0 + X[:, 0] + shared + 0.1 * rng.standard_normal(90) for _ in range(2)]
    models = [StepwiseOLS(lower=["x0"], report="none", n_draws=200).fit(X, time_s) for time_s in times]
    models[1] = model_from_json(model_to_json(models[1]))
    first, second = (model.sample(X[:1], np.random.default_rng(seed), 200)[:, 0] for seed, model in enumerate(models))
    assert np.corrcoef(first, second)[0, 1] > 0.9
    plain = StepwiseOLS(lower=["x0"], report="none").fit(X, times[0])
    assert first.std() == pytest.approx(plain.sample(X[:1], rng, 4000)[:, 0].std(), rel=0.25)


def test_negative_predictions_of_positive_times_are_a_warning() -> None:
    x = np.linspace(0.1, 10.0, 60)
    planted = StepwiseOLS(report="none").fit(x[:, None], x**4 + 1e-3)
    assert any("negative predictions" in warning for warning in planted.report_.warnings)
    clean = StepwiseOLS(report="none").fit(x[:, None], 1.0 + x)
    assert not any("negative predictions" in warning for warning in clean.report_.warnings)
