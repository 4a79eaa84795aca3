"""The recursion as a scikit-learn regressor: its contract, pieces, storage."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import DataError, UsageError
from mlperf.models import RecursiveLeastSquares
from mlperf.models.storage.store import model_from_json, model_to_json


@pytest.mark.parametrize(
    "model", [RecursiveLeastSquares(), RecursiveLeastSquares(forgetting=0.99, clip=3.0, prior_variance=100.0, fit_intercept=False)]
)
def test_it_is_a_scikit_learn_estimator(model: RecursiveLeastSquares) -> None:
    results = check_estimator(model, on_skip=None, on_fail=None)
    assert not [result["check_name"] for result in results if result["status"] == "failed"]
    assert len(results) > 40


def data(n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, 4)) + np.array([0.0, 5.0, -3.0, 1.0])
    return X, X @ [1.0, -2.0, 0.5, 0.0] + 7.0 + rng.standard_normal(n_rows)


def test_it_equals_linear_regression() -> None:
    X, y = data()
    ours, theirs = RecursiveLeastSquares().fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-8)


def test_pieces_give_the_same_bits_as_the_whole() -> None:
    X, y = data()
    pieces = RecursiveLeastSquares(forgetting=0.99, clip=2.0)
    for start in range(0, len(X), 37):
        pieces.partial_fit(X[start : start + 37], y[start : start + 37])
    whole = RecursiveLeastSquares(forgetting=0.99, clip=2.0).fit(X, y)
    assert (pieces.coef_ == whole.coef_).all()
    assert pieces.n_seen_ == len(X)


@pytest.mark.parametrize("n_rows", [3, 100])
def test_a_stored_model_predicts_and_goes_on_learning_bit_equal(n_rows: int) -> None:
    X, y = data()
    model = RecursiveLeastSquares(forgetting=0.995, clip=2.0).fit(X[:n_rows], y[:n_rows])
    again = model_from_json(model_to_json(model))
    assert (again.predict(X) == model.predict(X)).all()
    model.partial_fit(X[n_rows:], y[n_rows:])
    again.partial_fit(X[n_rows:], y[n_rows:])
    assert (again.coef_ == model.coef_).all()


def test_a_spoilt_file_is_refused_with_its_place() -> None:
    X, y = data()
    text = model_to_json(RecursiveLeastSquares().fit(X, y)).replace('"n_rows":200', '"n_rows":-1')
    with pytest.raises(DataError, match=r"\$\.n_rows"):
        model_from_json(text)


@pytest.mark.parametrize("setting", [{"forgetting": 0.0}, {"forgetting": 1.1}, {"clip": 0.0}, {"prior_variance": -1.0}])
def test_settings_outside_their_range_are_refused(setting: dict[str, float]) -> None:
    X, y = data()
    with pytest.raises(UsageError, match=next(iter(setting))):
        RecursiveLeastSquares(**setting).fit(X, y)
