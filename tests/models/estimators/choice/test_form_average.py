"""Akaike weights by hand, forms that rows cannot tell apart, and the estimator's contract."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from mlperf.core.errors import DataError, FitError
from mlperf.models import FormAverage
from mlperf.models.estimators.choice.form_average import akaike_weights, corrected_criterion, distinct_points
from mlperf.models.storage.store import model_from_json, model_to_json

EXCHANGE = (("n * (m - 1) / m",), ("n * log2(m)",), ("n * (m - 1)",), ("n",))


def test_weights_are_those_of_burnham_and_anderson() -> None:
    """Differences of 0, 2 and 4 units of AIC: exp(-D/2) over their sum (2002, section 2.9)."""
    assert akaike_weights(np.array([104.0, 100.0, 102.0])) == pytest.approx([0.0900, 0.6652, 0.2447], abs=1e-4)


def test_the_corrected_criterion_by_hand() -> None:
    """N log(RSS / n) + 2 k + 2 k (k + 1) / (n - k - 1) with n = 10, k = 2 and 3."""
    found = corrected_criterion(np.array([0.5, 0.4]), np.array([2.0, 3.0]), 10.0, 0.0)
    assert found == pytest.approx([10 * np.log(0.05) + 4 + 12 / 7, 10 * np.log(0.04) + 6 + 24 / 6])


def test_a_saturated_form_is_not_judged_by_its_own_fit() -> None:
    found = corrected_criterion(np.array([0.5, 0.0]), np.array([2.0, 3.0]), 2.0, 0.01)
    assert np.isfinite(found[0])
    assert np.isinf(found[1])


def test_repeats_are_one_point() -> None:
    points, times = distinct_points(pd.DataFrame({"n": [2.0, 1.0, 2.0]}), np.array([3.0, 1.0, 5.0]))
    assert points["n"].tolist() == [1.0, 2.0]
    assert times.tolist() == [1.0, 4.0]
    assert distinct_points(points.iloc[[0, 0]], times, np.array([3.0, 1.0]))[1].tolist() == [1.75]


def runs(nodes: tuple[int, ...], networks: tuple[float, ...], law) -> tuple[pd.DataFrame, np.ndarray]:
    rows = pd.DataFrame([(float(n), float(m)) for n in networks for m in nodes], columns=["n", "m"])
    noise = np.random.default_rng(0).normal(0.0, 0.003, len(rows))
    return rows, 2e-9 * rows["n"].to_numpy() * law(rows["m"].to_numpy()) * np.exp(noise)


@pytest.mark.parametrize(
    ("number", "law"), list(enumerate((lambda m: (m - 1) / m, np.log2, lambda m: m - 1.0, lambda m: np.ones_like(m))))
)
def test_the_law_of_an_exchange_is_found_from_three_numbers_of_nodes(number: int, law) -> None:
    model = FormAverage(EXCHANGE).fit(*runs((2, 4, 8), (1e6, 3e6), law))
    best = model.forms_[int(np.argmax(model.weights_))]
    assert best.terms == EXCHANGE[number]
    assert model.weights_.max() > 0.99


def test_two_nodes_alone_tell_no_law_and_the_draws_say_so() -> None:
    """Four laws fit two nodes alike; on four nodes they differ by a factor of three, inside the interval."""
    model = FormAverage(EXCHANGE).fit(*runs((2,), (1e6, 3e6), lambda m: (m - 1) / m))
    assert model.weights_ == pytest.approx([0.25] * 4, abs=1e-6)
    four = pd.DataFrame({"n": [2e6], "m": [4.0]})
    interval = model.predict_interval(four)
    assert interval.lower[0] < 2e-9 * 2e6 * 0.75 < interval.upper[0]
    assert interval.upper[0] / interval.lower[0] > 2.5


def test_draws_of_equal_generators_take_comparable_forms_together() -> None:
    model = FormAverage(EXCHANGE).fit(*runs((2,), (1e6, 3e6), lambda m: m - 1.0))
    four = pd.DataFrame({"n": [2e6, 1e6], "m": [4.0, 4.0]})
    one, other = (model.sample(four, np.random.default_rng(3), 500, "mean") for _ in range(2))
    assert one.tolist() == other.tolist()
    assert np.corrcoef(np.log(one.T))[0, 1] > 0.99


def test_a_known_noise_weighs_by_likelihood() -> None:
    rows = pd.DataFrame({"n": [1.0, 2.0, 4.0]})
    y = np.array([1.0, 2.0, 4.4])
    model = FormAverage((("n",), ("n ^ 1.1",)), noise=0.1).fit(rows, y)
    squares = [form.squares for form in model.forms_]
    assert model.weights_[0] / model.weights_[1] == pytest.approx(np.exp(-0.5 * (squares[0] - squares[1]) / 0.01))


def test_nothing_stands() -> None:
    with pytest.raises(FitError, match="none of 1 forms stands"):
        FormAverage((("max(n - 10, 0)",),)).fit(pd.DataFrame({"n": [1.0, 2.0]}), [1.0, 2.0])


def test_stored_models_predict_bit_equal() -> None:
    rows, y = runs((2, 4), (1e6, 3e6), np.log2)
    model = FormAverage(EXCHANGE).fit(rows, y)
    again = model_from_json(model_to_json(model))
    assert again.predict(rows).tolist() == model.predict(rows).tolist()
    assert again.in_domain(rows).all()
    assert not again.in_domain(rows.assign(m=64.0)).any()


def test_the_contract_of_scikit_learn() -> None:
    check_estimator(FormAverage())


@pytest.mark.parametrize(("nodes", "told"), [((2, 2, 2, 2), False), ((2, 4, 8, 16), True)])
def test_rows_on_one_number_of_nodes_do_not_tell_how_a_cost_grows(nodes: tuple[int, ...], told: bool) -> None:
    X = pd.DataFrame({"n_params": [1e5, 4e5, 9e5, 2e6], "n_nodes": nodes})
    y = X["n_params"] * np.log2(X["n_nodes"]) * 1e-9 * np.array([1.001, 0.999, 1.0, 1.001])
    model = FormAverage([("n_params",), ("n_params * log2(n_nodes)",), ("n_params * (n_nodes - 1)",)]).fit(X, y)
    assert model.told_apart is told


def test_a_coefficient_stands_before_a_sum_in_parentheses() -> None:
    n = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    model = FormAverage((("n + 3 * max(n - 4, 0)",), ("(n - 0.5) * log2(n + 1)",))).fit(
        pd.DataFrame({"n": n}), 2.0 * (n + 3 * np.maximum(n - 4, 0))
    )
    assert model.table()["form"].iloc[0] == "2 (n + 3 * max(n - 4, 0))"


def test_columns_of_any_name_and_truth_values_are_read() -> None:
    X = pd.DataFrame({"size [KiB]": [1.0, 2.0, 4.0, 8.0], "is_far": [True, False, True, True]})
    model = FormAverage().fit(X, 3.0 * X["size [KiB]"])
    assert model.predict(X) == pytest.approx(3.0 * X["size [KiB]"].to_numpy())
    assert model.in_domain(X).all()
    with pytest.raises(DataError, match="text or categories, expected numbers in 'is_far'"):
        FormAverage().fit(X.assign(is_far="no"), X["size [KiB]"])
