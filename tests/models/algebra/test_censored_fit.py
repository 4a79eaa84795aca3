"""The censored likelihood against published figures, least squares, and a search that knows nothing of its derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from mlperf.core.errors import FitError
from mlperf.models.algebra.censored_fit import fit_censored

MOTORETTES = {
    170: ([1764, 2772, 3444, 3542, 3780, 4860, 5196], 5448),
    190: ([408, 408, 1344, 1344, 1440], 1680),
    220: ([408, 408, 504, 504, 504], 528),
}
"""Hours to failure of ten motorettes at each temperature (Celsius), and when the others were taken away (Nelson and Hahn 1972)."""


def motorettes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Design, log hours, and which motorettes had not failed."""
    rows = [(heat, hours, False) for heat, (failed, _) in MOTORETTES.items() for hours in failed]
    rows += [(heat, end, True) for heat, (failed, end) in MOTORETTES.items() for _ in range(10 - len(failed))]
    heat, hours, censored = (np.array(column) for column in zip(*rows, strict=True))
    return np.column_stack([np.ones(len(heat)), 1000.0 / (273.2 + heat)]), np.log(hours), censored


def made(n_rows: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A plane with normal errors, cut at a level that hides about a third."""
    rng = np.random.default_rng(11)
    design = np.column_stack([np.ones(n_rows), rng.normal(size=n_rows), rng.uniform(-2.0, 2.0, n_rows)])
    y = design @ [1.0, 0.8, -0.5] + 0.6 * rng.standard_normal(n_rows)
    return design, np.minimum(y, 1.4), y > 1.4


def test_motorettes_have_the_published_log_normal_fit() -> None:
    """Example 'Motorette Failure' of SAS's LIFEREG: four digits of each estimate and error, nine of the likelihood."""
    fit = fit_censored(*motorettes())
    assert fit.coef == pytest.approx([-10.4706, 8.3221], abs=5e-5)
    assert fit.sigma == pytest.approx(0.6040, abs=5e-5)
    assert fit.log_likelihood == pytest.approx(-24.47381031, abs=5e-9)
    errors = np.sqrt(np.diag(fit.covariance))
    assert errors[:2] == pytest.approx([2.7719, 1.2841], abs=5e-5)
    # The table gives the error of the scale itself, here it is that of its logarithm.
    assert fit.sigma * errors[2] == pytest.approx(0.1107, abs=5e-5)


def test_a_blind_search_finds_the_same_maximum() -> None:
    design, y, censored = made()

    def minus_log_likelihood(at: np.ndarray) -> float:
        centre, sigma = design @ at[:-1], np.exp(at[-1])
        each = np.where(censored, stats.norm.logsf(y, centre, sigma), stats.norm.logpdf(y, centre, sigma))
        return -float(each.sum())

    blind = minimize(
        minus_log_likelihood, np.zeros(4), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 8000}
    )
    fit = fit_censored(design, y, censored)
    assert fit.log_likelihood == pytest.approx(-blind.fun, abs=1e-9)
    assert [*fit.coef, np.log(fit.sigma)] == pytest.approx(blind.x, abs=1e-5)


def test_without_censored_rows_it_is_least_squares() -> None:
    design, y, censored = made()
    fit = fit_censored(design, y, np.zeros_like(censored))
    coef, rss = np.linalg.lstsq(design, y, rcond=None)[:2]
    assert fit.coef == pytest.approx(coef, rel=1e-9)
    assert fit.sigma**2 == pytest.approx(rss[0] / len(y), rel=1e-9)
    assert fit.covariance[:-1, :-1] == pytest.approx(fit.sigma**2 * np.linalg.inv(design.T @ design), rel=1e-8)


def test_the_unit_of_a_column_does_not_matter() -> None:
    design, y, censored = made()
    unit = np.array([1.0, 1e9, 1e-7])
    fit, scaled = fit_censored(design, y, censored), fit_censored(design * unit, y, censored)
    assert scaled.coef * unit == pytest.approx(fit.coef, rel=1e-6)
    assert scaled.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-8)


def test_more_columns_than_known_responses_are_refused() -> None:
    design, y, _ = made(6)
    with pytest.raises(FitError, match="2 rows that are not censored"):
        fit_censored(design, y, np.array([True] * 4 + [False] * 2))
