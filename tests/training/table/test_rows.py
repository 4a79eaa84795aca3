"""Rows that cannot be fitted are refused with the place and the remedy; what is not used may be empty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError
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
    assert caught.value.place == "table, row 3, column n"
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
