"""Columns of frames as arrays, and numbers with few digits."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.arrays import distinct_rows, number_columns, rounded

FRAME = pd.DataFrame({"a": [1.5, 2.5], "device": ["x", "y"], "n": [3, 4], "fresh": [True, False], "small": np.float32([0.5, 0.25])})


def test_columns_are_those_of_a_frame_of_them() -> None:
    for names in (["n", "a"], ["small"], ["a", "n", "small"]):
        found = number_columns(FRAME, names)
        assert found is not None
        assert found.dtype == np.float64
        assert found.tolist() == FRAME[names].to_numpy(float).tolist()


def test_no_columns_have_rows_all_the_same() -> None:
    found = number_columns(FRAME, [])
    assert found is not None
    assert found.shape == (2, 0)


def test_labels_and_flags_are_no_numbers() -> None:
    assert number_columns(FRAME, ["a", "device"]) is None
    assert number_columns(FRAME, ["fresh"]) is None
    assert number_columns(FRAME.assign(a=pd.array([1, None], "Int64")), ["a"]) is None


def test_digits_that_are_kept() -> None:
    assert rounded(np.array([[123.456, -0.00123456]]), 3).tolist() == [[123.0, -0.00123]]


def test_rows_alike_have_one_number_in_the_order_of_appearance() -> None:
    rows = np.random.default_rng(0).integers(0, 4, (3, 500)).astype(float)
    rows[0, 7] = rows[1, 7] = np.nan
    number, first = distinct_rows(*rows)
    assert number[first].tolist() == list(range(len(first)))
    assert np.array_equal(rows[:, first][:, number], rows, equal_nan=True)
    assert len(first) == len({tuple(row) for row in rows.T.tolist()})


def test_no_rows_have_no_numbers() -> None:
    number, first = distinct_rows(np.empty(0), np.empty(0))
    assert len(number) == len(first) == 0
