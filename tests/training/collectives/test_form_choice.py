"""The one-standard-error rule and what is left out."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.training.collectives.exchange_forms import form_named
from mlperf.training.collectives.exchange_rows import terms_frame
from mlperf.training.collectives.form_choice import choose, count_folds, left_out_log_ratios, row_errors, row_folds, verdict

N, S = (each.ravel() for each in np.meshgrid([2.0, 4.0, 8.0], 2.0 ** np.arange(10, 22)))
COLUMNS = terms_frame(N, 1.0, S)


def test_the_simplest_within_one_standard_error_of_the_best() -> None:
    """Differences of mean 0.01: a spread of 0.06 over 9 rows makes a standard error of 0.02, one of 0.006 makes 0.002."""
    best = np.full(9, 0.05)
    unsure = best + 0.01 + 0.06 * np.array([-1, -1, -1, 1, 1, 1, 0, 0, 0]) * np.sqrt(8.0 / 6.0)
    sure = best + 0.01 + 0.1 * (unsure - best - 0.01)
    assert choose([best, unsure], [9, 2], [True, True]) == (1, [0, 1])
    assert choose([best, sure], [9, 2], [True, True]) == (0, [0])
    assert choose([best, unsure], [9, 2], [False, True]) == (1, [1])
    assert choose([np.full(9, np.nan)], [1], [True]) == (-1, [])


def test_every_row_and_every_count_is_left_out_once() -> None:
    for folds in (row_folds(len(N)), row_folds(100), count_folds(COLUMNS)):
        tested = np.concatenate([fold.test for fold in folds])
        assert sorted(tested.tolist()) == list(range(len(tested)))
    assert len(row_folds(len(N))) == len(N)
    assert len(row_folds(100)) == 10
    assert count_folds(terms_frame([2.0, 4.0], 1.0, 8.0)) == []


def test_left_out_rows_of_the_truth_are_exact_and_what_says_nothing_errs_by_all() -> None:
    time_s = 1e-5 * 2.0 * (N - 1.0) + 1e-10 * 2.0 * (N - 1.0) / N * S
    true, by_count = (
        left_out_log_ratios(form_named(name), COLUMNS, time_s, count_folds(COLUMNS)) for name in ("ring", "line for each count")
    )
    assert row_errors(true) == pytest.approx(np.zeros(len(N)), abs=1e-9)
    assert row_errors(by_count).tolist() == [1.0] * len(N)


def test_errors_are_relative_to_what_was_measured() -> None:
    assert row_errors(np.log([2.0, 0.5])) == pytest.approx([0.5, 1.0])


def test_words() -> None:
    errors = np.zeros(3)
    assert verdict(errors, chosen=True, near=True) == "chosen"
    assert verdict(errors, chosen=False, near=True) == "kept"
    assert verdict(errors, chosen=False, near=False) == "rejected"
    assert verdict(np.full(3, np.nan), chosen=False, near=False) == "not told apart"
