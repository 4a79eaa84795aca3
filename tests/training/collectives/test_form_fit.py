"""Forms find coefficients they were made with, and do not pretend where rows cannot tell."""

from __future__ import annotations

import json
from unittest.mock import patch

import numpy as np
import pytest

from mlperf.training.collectives import form_fit
from mlperf.training.collectives.exchange_forms import FORMS, form_named
from mlperf.training.collectives.exchange_rows import terms_frame
from mlperf.training.collectives.form_fit import SOLVED, FittedForm, fit_exchange_form, log_lines, with_terms

N, S = (each.ravel() for each in np.meshgrid([2.0, 4.0, 8.0, 16.0, 32.0], 2.0 ** np.arange(10, 27, 2)))
M = np.maximum(1.0, N / 8.0)
COLUMNS = terms_frame(N, M, S)


def test_a_ring_is_found_again() -> None:
    time_s = 2.0 * (N - 1.0) * (4e-6 + S / (N * 1e10))
    fitted = fit_exchange_form(form_named("ring"), COLUMNS, time_s)
    assert fitted is not None
    assert fitted.parts[0].coef == pytest.approx([1e-10, 4e-6])
    assert fitted.predict(terms_frame([3.0], [1.0], [1e6])) == pytest.approx([4.0 * (4e-6 + 1e6 / 3e10)])


def test_a_cost_cannot_be_negative_but_the_papers_coefficients_can() -> None:
    time_s = 1e-9 * S * (2.0 - 0.3 * np.log2(N))
    paper, physical = (fit_exchange_form(form_named(name), COLUMNS, time_s) for name in ("paper", "paper with latency"))
    assert paper is not None
    assert physical is not None
    assert paper.parts[0].coef == pytest.approx([-0.3e-9, 2e-9])
    assert (physical.parts[0].coef >= 0.0).all()


def test_a_change_of_the_algorithm_is_found_between_its_neighbours() -> None:
    slow = np.where(N > 8.0, 3.0, 1.0)
    time_s = slow * (1e-10 * np.log2(N) * S + 2e-10 * S + 1e-5 * np.log2(N))
    fitted = fit_exchange_form(form_named("change at a count"), COLUMNS, time_s)
    assert fitted is not None
    assert 8.0 < fitted.parts[0].high < 16.0
    assert fitted.predict(COLUMNS) == pytest.approx(time_s)
    assert fitted.n_coef == 7


def test_forms_by_count_say_nothing_elsewhere() -> None:
    time_s = 1e-5 + 1e-10 * S * N**0.3
    for name in ("line for each count", "log-log lines for each count", "ring with ramp, local ratio"):
        fitted = fit_exchange_form(form_named(name), COLUMNS, time_s)
        assert fitted is not None
        assert fitted.predict(COLUMNS) == pytest.approx(time_s, rel=1e-6)
        assert np.isnan(fitted.predict(terms_frame([3.0], [1.0], [1e6]))).all()


def test_log_lines_pass_through_their_nodes_and_go_on() -> None:
    nodes, log_s = np.log([1.0, 10.0, 1000.0]), np.log([1.0, 2.0, 2.0])
    at = np.log([1.0, 10.0, 100.0, 1000.0, 0.1])
    assert log_lines(nodes, log_s, at) == pytest.approx([1.0, 2.0, 2.0, 2.0, 0.5])


@pytest.mark.parametrize("name", ["two-level", "two-level with ramp"])
def test_two_levels_need_two_levels(name: str) -> None:
    inside = {key: values[M == 1.0] for key, values in COLUMNS.items()}
    assert fit_exchange_form(form_named(name), inside, 1e-9 * inside["S"]) is None
    assert fit_exchange_form(form_named(name), COLUMNS, 1e-9 * S) is not None


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_stored_forms_predict_the_same_bits(form) -> None:
    rng = np.random.default_rng(0)
    fitted = fit_exchange_form(form, COLUMNS, (1e-5 + 1e-10 * S) * rng.uniform(0.8, 1.2, len(S)))
    assert fitted is not None
    again = FittedForm.from_dict(json.loads(json.dumps(fitted.to_dict())), "$")
    assert (again.predict(COLUMNS) == fitted.predict(COLUMNS)).all()
    assert again.n_coef == fitted.n_coef


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_row_less_with_terms_at_hand_fits_the_same_bits(form) -> None:
    time_s = (1e-5 + 1e-10 * S) * np.random.default_rng(1).uniform(0.8, 1.2, len(S))
    rest = np.arange(len(S)) != 7
    plain, at_hand = ({name: each[rest] for name, each in columns.items()} for columns in (COLUMNS, with_terms(form, COLUMNS)))
    SOLVED.forget()
    found = fit_exchange_form(form, plain, time_s[rest])
    SOLVED.forget()
    again = fit_exchange_form(form, at_hand, time_s[rest])
    assert found is not None
    assert again is not None
    assert found.to_dict() == again.to_dict()
    assert (found.predict(plain) == again.predict(at_hand)).all()


def test_a_row_that_is_left_out_solves_its_own_count_again() -> None:
    """Five counts of nine sizes: each of three rows changes one count, and the other four are known."""
    time_s, form = 1e-5 + 1e-10 * S * N, form_named("ramp for each count")
    SOLVED.forget()
    with patch.object(form_fit, "_solve", wraps=form_fit._solve) as solve:
        for out in ([], [0], [1], [2]):
            fit_exchange_form(form, {name: np.delete(each, out) for name, each in COLUMNS.items()}, np.delete(time_s, out))
    assert solve.call_count == 5 + 3


@pytest.mark.parametrize("apart", [1.0, 1e-2, 1e-5, 1e-9, 1e-13, 1e-17, 0.0])
@pytest.mark.parametrize("n_terms", [1, 2, 4])
def test_terms_are_told_apart_as_by_singular_values(apart: float, n_terms: int) -> None:
    columns = np.random.default_rng(2).uniform(0.5, 1.5, (30, n_terms))
    columns[:, -1] = apart * columns[:, -1] + columns[:, 0] * (n_terms > 1) + (n_terms == 1)
    unit = columns / np.sqrt((columns * columns).sum(axis=0))
    assert form_fit._told_apart(unit) == (np.linalg.matrix_rank(unit) == n_terms)
