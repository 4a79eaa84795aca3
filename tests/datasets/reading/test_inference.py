"""Columns of texts typed: numbers with either decimal mark, labels, and what is neither."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets.reading.inference import TypedColumn, foreign_column, typed_column


def typed(*texts: str, is_label: bool = False, is_target: bool = False, decimal: str = ".") -> TypedColumn:
    cells = pd.Series(texts, name="x", dtype="str")
    return foreign_column(cells, is_label=is_label, is_target=is_target, decimal=decimal)


@pytest.mark.parametrize(
    ("texts", "decimal", "values"),
    [
        (("1", "+2", "-3"), ".", [1, 2, -3]),
        (("1", "2.5", "1e3"), ".", [1.0, 2.5, 1000.0]),
        (("1", "2,5", "1,5e3"), ",", [1.0, 2.5, 1500.0]),
        ((" 1 ", ",5", "2,"), ",", [1.0, 0.5, 2.0]),
        (("1", "", "n/a"), ".", [1.0, np.nan, np.nan]),
    ],
)
def test_numbers(texts: tuple[str, ...], decimal: str, values: list[float]) -> None:
    column = typed(*texts, decimal=decimal)
    np.testing.assert_array_equal(column.values, values)
    assert column.values.dtype == np.array(values).dtype
    assert column.wrong is None


def test_labels_lose_blanks_and_say_what_they_hold() -> None:
    assert typed(" A ", "B").values.tolist() == ["A", "B"]
    assert typed(" 1 ", "2", is_label=True).values.tolist() == ["1", "2"]
    assert [typed(*texts).holds for texts in (("2024-01-31", ""), ("1 s", "2 s"), ("1 s", "A"))] == ["dates", "units", ""]
    assert typed("", "NA").missing.tolist() == [True, True]


@pytest.mark.parametrize(
    ("texts", "decimal", "row", "hint"),
    [
        (("1", "2,5", "3"), ".", 1, "Write a decimal point"),
        (("2,5", "3,5"), ".", 0, "Write a decimal point"),
        (("1 000", "2 000"), ".", 0, "Remove the separators between thousands"),
        (("1,5", "2.5", "3"), ",", 1, "decimal commas: write one here too"),
        (("2.5", "3.5"), ",", 0, "decimal commas: write one here too"),
        (("1", "2", "OOM"), ".", 2, "--na drop"),
        (("A", "B", "3"), ".", 2, "--categorical x"),
        (("500", "4,000", "16,000"), ".", 1, "remove the comma in the whole column: 4000"),
        (("500", "4'000", "16'000"), ".", 1, "Remove the separators between thousands"),
        (("500", "4_000", "16_000"), ".", 1, "Remove the separators between thousands"),
    ],
)
def test_what_is_neither_is_named_with_the_remedy(texts: tuple[str, ...], decimal: str, row: int, hint: str) -> None:
    column = typed(*texts, decimal=decimal)
    assert column.wrong == row
    assert hint in column.hint
    assert "--categorical x" in column.hint


@pytest.mark.parametrize(("texts", "row"), [(("A", "B"), 0), (("A", "B", "3"), 0), (("3", "2024-01-31"), 1), (("3", "4 s"), 1)])
def test_a_target_is_never_advised_to_be_labels(texts: tuple[str, ...], row: int) -> None:
    column = typed(*texts, is_target=True)
    assert column.wrong == row
    assert column.hint
    assert "categorical" not in column.hint


def test_tables_of_ours_may_have_labels_that_look_like_numbers_elsewhere() -> None:
    assert typed_column(pd.Series(["1,5", "2,5"], dtype="str"), is_label=False).wrong is None
