"""Factors by group: planted ones come back, what is not known of a group is that of the group above, no row sees itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlperf.core.errors import DataError
from mlperf.models.uncertainty.ratio_factors import (
    COMMON,
    UNCHANGED,
    Labels,
    RatioFactors,
    best_depth,
    chosen_left_out,
    fit_factors,
    group_columns,
    group_folds,
    left_out_by_depth,
    left_out_residuals,
    mean_error,
    medians,
    row_folds,
)


def labels(*columns: str) -> Labels:
    return np.array([list(column) for column in columns], object).T.reshape(len(columns[0]) if columns else 0, len(columns))


PLANTED = np.log(np.array([1.1, 1.1, 1.1, 1.1, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9]))
NAMES = labels("aaaabbbbcccc", "112211221122")


def test_planted_factors_come_back() -> None:
    found = fit_factors(PLANTED, NAMES, 1)
    assert_allclose(found.log_factor(NAMES), PLANTED, atol=1e-12)
    assert found.knows(NAMES).all()
    assert_allclose(fit_factors(PLANTED, NAMES, COMMON).log_factor(NAMES), np.log(0.9))
    assert_allclose(fit_factors(PLANTED, NAMES, UNCHANGED).log_factor(NAMES), 0.0)


def test_an_unknown_group_takes_the_factor_above_it() -> None:
    found = fit_factors(PLANTED + np.tile([0.05, 0.05, -0.05, -0.05], 3), NAMES, 2)
    strange = labels("az", "91")
    assert not found.knows(strange).any()
    assert found.known_depth(np.vstack([strange, NAMES[:1]])).tolist() == [1, 0, 2]
    alone = fit_factors(PLANTED + np.tile([0.05, 0.05, -0.05, -0.05], 3), NAMES, 1)
    assert_allclose(found.log_factor(strange), alone.log_factor(strange), atol=1e-12)
    assert found.log_factor(strange)[1] == pytest.approx(found.common)


def test_one_wrong_row_does_not_move_the_common_factor() -> None:
    rows = np.append(np.full(9, 0.1), 7.0)
    assert fit_factors(rows, np.empty((10, 0), object), COMMON).common == pytest.approx(0.1)


def test_left_out_rows_are_not_seen() -> None:
    rng = np.random.default_rng(0)
    rows = PLANTED + 0.01 * rng.standard_normal(12)
    groups = group_columns(NAMES)
    for depth in (UNCHANGED, COMMON, 1, 2):
        found = left_out_residuals(rows, groups, depth, row_folds(12))
        for at in range(12):
            others = np.delete(np.arange(12), at)
            alone = fit_factors(rows[others], NAMES[others], depth).log_factor(NAMES[at : at + 1])[0]
            assert found[at] == pytest.approx(rows[at] - alone, abs=1e-12)


@pytest.mark.parametrize("n_rows", [3, 12, 70])
def test_folds_left_out_at_once_are_those_left_out_one_by_one(n_rows: int) -> None:
    """To the last bit, of equal and of unequal folds, and of all depths at once."""
    rng = np.random.default_rng(n_rows)
    rows, groups = rng.standard_normal(n_rows), group_columns(rng.integers(0, 3, (n_rows, 2)).astype(str).astype(object))
    for folds in (row_folds(n_rows), group_folds(groups, 1), group_folds(groups, 2)):
        found = left_out_by_depth(rows, groups, 2, folds)
        for depth in (UNCHANGED, COMMON, 1, 2):
            for fold in folds:
                np.testing.assert_array_equal(found[depth + 1, fold], left_out_residuals(rows, groups, depth, [fold])[fold])


def test_medians_are_those_of_numpy() -> None:
    for n_values in (1, 2, 7, 8):
        values = np.random.default_rng(n_values).standard_normal((5, n_values))
        np.testing.assert_array_equal(medians(values), np.median(values, axis=1))


def test_the_depth_is_the_one_that_left_out_rows_ask_for() -> None:
    rng = np.random.default_rng(3)
    noise = 0.01 * rng.standard_normal(12)
    groups = group_columns(NAMES)
    assert best_depth(PLANTED + noise, groups) == 1
    assert best_depth(0.3 + noise, groups) == COMMON
    assert best_depth(np.array([0.3]), group_columns(NAMES[:1])) == UNCHANGED
    chosen = chosen_left_out(PLANTED + noise, groups)
    assert mean_error(chosen) < 0.02


def test_many_rows_are_left_out_in_twenty_parts() -> None:
    folds = row_folds(1000)
    assert len(folds) == 20
    assert sorted(np.concatenate(folds)) == list(range(1000))


def test_stored_factors_are_the_same_and_a_damaged_file_is_refused() -> None:
    found = fit_factors(PLANTED, NAMES, 2)
    document = json.loads(json.dumps(found.to_dict()))
    assert_allclose(RatioFactors.from_dict(document).log_factor(NAMES), found.log_factor(NAMES), rtol=0)
    with pytest.raises(DataError, match="expected 1"):
        RatioFactors.from_dict({**document, "depth": 1})
