"""Splits of the protocol: numpy's and scikit-learn's published sequences, devices by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.studies.open_data.products import largest_products
from mlperf.studies.open_data.splits import device_rows, first_rows, seventy_thirty, shuffled_folds


def test_seventy_thirty_is_the_permutation_of_seed_0() -> None:
    """RandomState(0).permutation(10) has been 2 8 4 9 1 6 7 3 0 5 in every version of numpy."""
    (fold,) = seventy_thirty(10)
    assert fold.train.tolist() == [2, 8, 4, 9, 1, 6, 7]
    assert fold.test.tolist() == [3, 0, 5]
    assert seventy_thirty(10, 2)[0].test.tolist() == [3, 0]


def test_ten_folds_test_every_row_once() -> None:
    folds = shuffled_folds(94)
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(94))
    assert {len(fold.test) for fold in folds} == {9, 10}
    assert all(len(fold.train) + len(fold.test) == 94 for fold in folds)


def test_largest_products_are_left_out_whatever_their_order() -> None:
    (fold,) = largest_products(pd.DataFrame({"m": [5, 1, 4, 2, 3], "n": 2, "k": 3}))
    assert fold.test.tolist() == [0]


def test_first_rows_need_enough_rows() -> None:
    assert first_rows(10, 6, 3)[0].test.tolist() == [6, 7, 8]
    with pytest.raises(DataError, match="at least 11"):
        first_rows(10, 8, 3)


def test_a_device_is_found_by_part_of_its_name_and_repeats_go() -> None:
    frame = pd.DataFrame({"device": ["Tesla P4", "Tesla T4", "Tesla P4", "Tesla P4"], "m": [1, 2, 1, 3], "t": [0.1, 0.2, 0.3, 0.4]})
    assert device_rows(frame, "P4", ["m"])["t"].tolist() == [0.1, 0.4]
    assert len(device_rows(frame, "P4")) == 3
    for name in ("Tesla", "V100"):
        with pytest.raises(DataError, match="Tesla P4, Tesla T4"):
            device_rows(frame, name)
