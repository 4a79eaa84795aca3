"""Arguments of another type are refused by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from mlperf.core.errors import PATH, UsageError, check_count, check_type, fold_count


def test_a_right_type_passes_and_another_is_named() -> None:
    check_type("a", PATH, "path", "a file")
    check_type({}, Mapping, "times", "a mapping")
    with pytest.raises(UsageError) as told:
        check_type(5, PATH, "path", "a file", "As in 'a.csv'.")
    assert str(told.value) == "path: got int, expected a file\n  hint: As in 'a.csv'."


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_a_count_passes(value: object) -> None:
    check_count(value, "top")


@pytest.mark.parametrize("value", [0, 2.5, "3", None, True, [5], np.array([1.0, 2.0])])
def test_what_is_no_count_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"top: got .*, expected a whole number >= 1"):
        check_count(value, "top")


def test_a_seed_may_be_zero() -> None:
    check_count(0, "seed", least=0)


def test_folds_are_counted_from_two_and_0_leaves_out_each_group() -> None:
    assert [fold_count(count) for count in (0, 2, np.int64(10))] == [0, 2, 10]
    for value in ("x", -1, 1.5, True):
        with pytest.raises(UsageError, match=r"^n_folds: got .*, expected a whole number >= 0$"):
            fold_count(value)
    with pytest.raises(UsageError, match="got 1 fold, which leaves nothing to fit on"):
        fold_count(1)
