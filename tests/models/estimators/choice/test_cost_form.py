"""One form of a cost: least relative squares by hand, and what does not stand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.models.estimators.choice.cost_form import CostForm, fit_form, fit_needed_terms, form_columns, form_matrix

SIZES = pd.DataFrame({"n": [1.0, 2.0, 4.0, 8.0], "m": [3.0, 1.0, 4.0, 1.0]})


def test_relative_least_squares_through_the_origin_is_the_mean_of_ratios_weighed_by_themselves() -> None:
    """Minimises sum (1 - a n / y)^2: a = sum(n / y) / sum((n / y)^2)."""
    y = np.array([2.0, 3.0, 9.0, 17.0])
    ratio = SIZES["n"].to_numpy() / y
    form = fit_form(("n",), SIZES, y)
    assert form is not None
    assert form.coef[0] == pytest.approx(ratio.sum() / (ratio @ ratio), rel=1e-12)
    assert form.log_residuals == pytest.approx(np.log(y / (form.coef[0] * SIZES["n"])), rel=1e-12)


def test_exact_coefficients_of_two_terms_come_back() -> None:
    form = fit_form(("1", "n * m"), SIZES, 0.5 + 0.25 * (SIZES["n"] * SIZES["m"]).to_numpy())
    assert form is not None
    assert form.coef == pytest.approx([0.5, 0.25], rel=1e-10)
    assert form.predict({"n": np.array([10.0]), "m": np.array([2.0])}, 1) == pytest.approx([5.5], rel=1e-10)


@pytest.mark.parametrize(
    ("terms", "y"),
    [
        (("1", "n"), np.array([8.0, 4.0, 2.0, 1.0])),  # falls with n: a cost below zero
        (("n", "2 * n"), np.array([1.0, 2.0, 4.0, 8.0])),  # one term twice
        (("1", "n", "m", "n * m", "n ^ 2"), np.array([1.0, 2.0, 4.0, 8.0])),  # more terms than points
        (("max(n - 100, 0)",), np.array([1.0, 2.0, 4.0, 8.0])),  # nothing there
    ],
)
def test_what_does_not_stand(terms: tuple[str, ...], y: np.ndarray) -> None:
    assert fit_form(terms, SIZES, y) is None


def test_terms_that_cost_nothing_go() -> None:
    y = 3.0 * SIZES["n"].to_numpy()
    form = fit_needed_terms(("n", "max(n - 100, 0)"), SIZES, y)
    assert form is not None
    assert form.terms == ("n",)


def test_slopes_are_difference_quotients() -> None:
    form = fit_form(("1", "n"), SIZES, np.array([1.1, 1.9, 4.2, 7.7]))
    assert form is not None
    step = 1e-6 * form.coef
    for place in range(2):
        moved = [
            form_matrix(form.terms, SIZES, len(SIZES)) @ (form.coef + sign * step * (np.arange(2) == place)) for sign in (1.0, -1.0)
        ]
        quotient = (np.log(moved[0]) - np.log(moved[1])) / (2.0 * step[place])
        assert form.log_slopes(SIZES, len(SIZES))[:, place] == pytest.approx(quotient, rel=1e-6)


def test_stored_and_read_back() -> None:
    form = fit_form(("1", "n"), SIZES, np.array([1.1, 1.9, 4.2, 7.7]))
    assert form is not None
    again = CostForm.from_dict(form.to_dict(), "$")
    assert again.predict(SIZES, len(SIZES)).tolist() == form.predict(SIZES, len(SIZES)).tolist()
    assert "1" in form.text
    assert form_columns(("1", "n * m", "n")) == ("n", "m")
