"""Rows that cannot be fitted are refused with the place and the remedy; what is not used may be empty."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError, FitError
from mlperf.training.table.rows import check_target


def table(n_rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    m, n = 2.0 ** rng.integers(3, 10, (2, n_rows))
    return pd.DataFrame({"m": m, "n": n, "time_s": (1e-5 + 1e-9 * m * n) * np.exp(0.05 * rng.standard_normal(n_rows))})


def written(tmp_path: Path, column: str, rows: list[int]) -> Path:
    frame = table().assign(wall_ms=lambda each: 1e3 * each.time_s, note="x", rare=lambda each: each.m)
    frame.loc[rows, column] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_an_empty_cell_in_a_column_of_numbers_that_is_used_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "n", [3, 17])
    with pytest.raises(DataError, match="got an empty cell, as in 2 of 40 rows, expected a number") as caught:
        mlperf.train(path, target="time_s", method="ols")
    assert caught.value.place == f"{path}, line 5, column n"
    assert "--na drop" in str(caught.value.hint)
    model = mlperf.train(path, target="time_s", method="ols", na="drop")
    assert model.fitted.estimator.report_.n_samples == 38
    assert set(mlperf.train(path, target="time_s", method="ols", terms=["m"]).columns) == {"m"}


@pytest.mark.parametrize(("column", "rows"), [("wall_ms", [3]), ("note", [3]), ("rare", list(range(21)))])
def test_an_empty_cell_in_a_column_that_is_not_used_is_none(column: str, rows: list[int], tmp_path: Path) -> None:
    model = mlperf.train(written(tmp_path, column, rows), target="time_s", method="ols")
    assert model.fitted.estimator.report_.n_samples == 40


def test_a_frame_follows_the_same_rule() -> None:
    frame = table()
    frame.loc[3, "n"] = np.nan
    with pytest.raises(DataError, match="as in 1 of 40 rows") as caught:
        mlperf.train(frame, target="time_s", method="ols")
    assert caught.value.place == "table, row 4, column n"
    assert mlperf.train(frame, target="time_s", method="ols", na="drop").fitted.estimator.report_.n_samples == 39


def test_a_constant_target_is_refused() -> None:
    with pytest.raises(DataError, match=r"got 5\.0 in every row, expected a target that differs") as caught:
        mlperf.train(table().assign(time_s=5.0), target="time_s")
    assert caught.value.place == "table, column time_s"
    assert "nothing to fit" in str(caught.value.hint)
    check_target(table(), "time_s", "table")


def test_a_term_that_counts_with_text_is_told_with_file_value_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table().assign(gpu=["A100", "H100"] * 20, mem=[f"{1 + i}G" for i in range(40)]).to_csv(path, index=False)
    with pytest.raises(DataError, match="got 'A100', expected numbers") as caught:
        mlperf.train(path, target="time_s", terms=["m*n*gpu"])
    assert caught.value.place == f"{path}, column gpu"
    assert "--formula" in str(caught.value.hint)
    with pytest.raises(DataError, match="got '1G', expected numbers") as caught:
        mlperf.train(path, target="time_s", terms=["m*mem"])
    assert caught.value.hint == "Write 1e9 for '1G'."


def generations(n_rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    table = pd.DataFrame({"m": rng.integers(1, 90, n_rows), "gen": rng.integers(1, 4, n_rows)})
    return table.assign(time_s=(5.0 + table.m) * table.gen.map({1: 4.0, 2: 1.0, 3: 2.0}) * rng.uniform(0.98, 1.02, n_rows))


def test_labels_that_look_like_numbers_are_labels_in_a_frame_too(tmp_path: Path) -> None:
    frame = generations()
    frame.to_csv(tmp_path / "t.csv", index=False)
    gaps = frame.assign(gen=frame.gen.astype(float)).reindex([*frame.index, 99])
    tables = (frame, tmp_path / "t.csv", frame.astype(object), gaps)
    asked = {"target": "time_s", "terms": ["m", "gen:I(m)", "gen"], "method": "ols", "report": "none", "na": "drop"}
    fits = [mlperf.train(table, categorical=["gen"], **asked) for table in tables]
    for fit in fits:
        assert fit.levels == {"gen": {"1", "2", "3"}}
        np.testing.assert_allclose(fit.predict(frame), fits[0].predict(frame), rtol=1e-12)


def test_numbers_that_stand_as_objects_are_numbers() -> None:
    frame = generations()
    plain = mlperf.train(frame, target="time_s", method="ols", report="none")
    found = mlperf.train(frame.astype({"m": object}), target="time_s", method="ols", report="none")
    assert found.columns == plain.columns
    np.testing.assert_array_equal(found.predict(frame.astype({"m": object})), plain.predict(frame))


@pytest.mark.parametrize(("value", "expected"), [(0.0, "> 0"), (-2.0, "> 0"), (np.inf, "> 0")])
def test_a_wrong_time_in_a_frame_is_named(value: float, expected: str) -> None:
    frame = generations()
    frame.loc[3, "time_s"] = value
    with pytest.raises(DataError, match=f"got {value}, expected a number {expected}") as caught:
        mlperf.train(frame, target="time_s")
    assert caught.value.place == "table, row 4, column time_s"


TARGET = "table, row 1, column time_s"


@pytest.mark.parametrize(
    ("change", "message", "place"),
    [
        (lambda table: table.set_axis(["m", "m", "time_s"], axis=1), "two columns called 'm'", "table"),
        (lambda table: table.set_axis([0, "gen", "time_s"], axis=1), "a column called 0", "table"),
        (lambda table: table.iloc[:0], "got 0 rows", "table"),
        (lambda table: table.assign(time_s="x"), "got 'x', expected a number > 0", TARGET),
        (
            lambda table: table.assign(time_s=pd.to_timedelta(table.time_s, unit="s")),
            "expected a number",
            "table, row 1, column time_s",
        ),
    ],
)
def test_frames_that_are_no_tables_are_refused(change: Callable[[pd.DataFrame], pd.DataFrame], message: str, place: str) -> None:
    with pytest.raises((DataError, FitError), match=message) as caught:
        mlperf.train(change(generations()), target="time_s", method="ols")
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("asked", "cells", "term"),
    [
        ({"terms": ["m", "log2(free)"]}, "free = 0 in row 1", "log2(free)"),
        ({"terms": ["m/free"]}, "m = .* free = 0 in row 1", "m/free"),
        ({"terms": ["m * sqrt(1 - free)"]}, "free = 2 in row 3", r"sqrt(1 - free)"),
        ({"formula": "time_s ~ (m + free)^2 + I(1/free) + gen"}, "free = 0 in row 1", "1/free"),
    ],
)
def test_a_term_without_a_value_is_told_with_its_cell(asked: dict[str, Any], cells: str, term: str, tmp_path: Path) -> None:
    table = generations()
    table.assign(free=table.index % 3).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=f"got {cells}, as in 20 of 60 rows, expected a value of {re.escape(term)}") as caught:
        mlperf.train(tmp_path / "t.csv", target="time_s", method="ols", **asked)
    assert str(caught.value.place).startswith(f"{tmp_path / 't.csv'}, column ")
    assert "log(1 + x)" in str(caught.value.hint)


def test_a_frame_of_clock_times_says_how_to_write_seconds() -> None:
    with pytest.raises(DataError, match="got '00:12:34', expected a number > 0") as caught:
        mlperf.train(table().assign(time_s="00:12:34"), target="time_s")
    assert caught.value.hint == "Write durations in seconds, in the whole column: 754 for '00:12:34'."
