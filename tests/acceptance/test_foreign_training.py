"""Tables as other programs write them, through ``mlperf train``: each gives the right model, or one message and no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.cli.main import main

pytestmark = pytest.mark.slow

N_ROWS = 48
Written = Callable[[pd.DataFrame], bytes]


def measured(n_rows: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    """Products on two devices: 20 us and 2e-11 s a multiplication, three times as long on B, 2 % noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(2 ** rng.integers(5, 10, (n_rows, 3)), columns=list("mnk")).assign(gpu=["A", "B"] * (n_rows // 2))
    factor = np.where(frame["gpu"] == "B", 3.0, 1.0)
    return frame.assign(time_s=(2e-5 + 2e-11 * factor * frame.m * frame.n * frame.k) * np.exp(0.02 * rng.standard_normal(n_rows)))


def csv(encoding: str = "utf-8", **options: Any) -> Written:
    """As pandas writes it."""
    return lambda frame: frame.to_csv(**{"index": False, "lineterminator": "\n", **options}).encode(encoding)


def after(change: Callable[[pd.DataFrame], pd.DataFrame], write: Written | None = None) -> Written:
    """A changed table."""
    return lambda frame: (write or csv())(change(frame))


def with_cell(column: str, row: int, value: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        found = frame.astype({column: object})
        found.loc[row, column] = value
        return found

    return change


OLS = ["--method", "ols", "--folds", "2"]
"""Of tables that are unusual in form alone: the other methods read the same rows."""

EVERY = ["--folds", "2"]
"""All methods, compared in two folds: each meets what is unusual."""

RIGHT: dict[str, tuple[Written, list[str]]] = {
    "commas": (csv(), OLS),
    "semicolons": (csv(sep=";"), OLS),
    "tabs": (csv(sep="\t"), OLS),
    "bars": (csv(sep="|"), OLS),
    "decimal commas": (csv(sep=";", decimal=","), OLS),
    "byte order mark": (csv("utf-8-sig"), OLS),
    "Windows line ends": (csv(lineterminator="\r\n"), OLS),
    "old Mac line ends": (csv(lineterminator="\r"), OLS),
    "UTF-16": (csv("utf-16"), OLS),
    "UTF-16 with tabs": (csv("utf-16", sep="\t"), OLS),
    "Windows-1252 names": (after(lambda f: f.rename(columns={"gpu": "Gerät"}), csv("cp1252")), OLS),
    "index of pandas": (csv(index=True), OLS),
    "every cell quoted": (csv(quoting=1), OLS),
    "exponents": (csv(float_format="%.12E"), OLS),
    "blanks around cells": (lambda f: csv()(f).replace(b",", b" , "), OLS),
    "separator at the end": (lambda f: csv()(f).replace(b"\n", b",\n"), OLS),
    "no line end": (lambda f: csv()(f).rstrip(b"\n"), OLS),
    "constant column": (after(lambda f: f.assign(batch=32)), EVERY),
    "collinear columns": (after(lambda f: f.assign(twice=2 * f["m"])), EVERY),
    "200 columns": (
        after(
            lambda f: f.join(pd.DataFrame(np.random.default_rng(1).random((len(f), 195)), columns=[f"x{i}" for i in range(195)]))
        ),
        [*OLS, "--terms", "m*n*k, gpu:I(m*n*k)"],
    ),
    "dates": (after(lambda f: f.assign(day=pd.date_range("2024-01-30", periods=len(f)))), OLS),
    "identifiers": (after(lambda f: f.assign(run=[f"run-{i:04}" for i in range(len(f))])), OLS),
    "booleans": (after(lambda f: f.assign(fused=[True, False, False] * (len(f) // 3))), OLS),
    "empty column": (after(lambda f: f.assign(note=None)), OLS),
    "notes in some rows": (after(lambda f: f.assign(note=["x", None] * (len(f) // 2))), OLS),
    "one empty cell": (after(with_cell("m", 7, None)), [*OLS, "--na", "drop"]),
    "one N/A": (after(with_cell("time_s", 7, "N/A")), [*OLS, "--na", "drop"]),
    "copied rows": (after(lambda f: pd.concat([f, f.head(3)])), [*OLS, "--duplicates", "drop"]),
    "a rare device": (after(with_cell("gpu", 5, "C")), EVERY),
    "another target": (after(lambda f: f.assign(cost_s=f["time_s"] * 1.1)), EVERY),
}


def train(path: Path, target: str, *options: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["train", str(path), "--target", target, "-o", str(path.with_suffix(".json")), *options])
    return int(caught.value.code or 0)


@pytest.mark.parametrize("case", RIGHT)
def test_the_right_model(case: str, tmp_path: Path) -> None:
    write, options = RIGHT[case]
    path = tmp_path / "times.csv"
    path.write_bytes(write(measured()))
    assert train(path, "time_s", *options) == 0
    model = mlperf.load_model(path.with_suffix(".json"), "table")
    asked = measured(12, seed=1)
    rows = asked.assign(Gerät=asked["gpu"], batch=32, twice=2 * asked["m"], fused="True", cost_s=1.0, note="x")
    rows = rows.join(pd.DataFrame(0.5, index=rows.index, columns=[f"x{i}" for i in range(195)]))
    error = np.abs(model.predict(rows) / asked["time_s"] - 1.0)
    assert float(np.median(error)) < 0.15


def few(n_rows: int) -> Written:
    return after(lambda f: f.head(n_rows))


REFUSED: dict[str, tuple[Written, str]] = {
    "one row": (few(1), "row"),
    "header alone": (few(0), "no rows"),
    "thousands": (after(lambda f: f.assign(m=[f"{value:,}" for value in 1000 * f["m"]])), "remove the comma"),
    "negative target": (after(with_cell("time_s", 3, -1.0)), "number > 0"),
    "target of text": (after(lambda f: f.assign(time_s="fast")), "expected a number"),
    "infinity": (after(with_cell("time_s", 3, "inf")), "got 'inf'"),
    "another unit in a cell": (after(with_cell("time_s", 3, "100 ms")), "write 0.1 for"),
    "a word among numbers": (after(with_cell("m", 3, "OOM")), "OOM"),
    "an empty target": (after(with_cell("time_s", 3, None)), "--na drop"),
    "a name twice": (lambda f: csv()(f).replace(b"n,k", b"m,k", 1), "twice"),
    "a row too long": (lambda f: csv()(f) + b"1,2,3,A,4,5\n", "cells"),
    "another target's case": (after(lambda f: f.rename(columns={"time_s": "time_S"})), "Did you mean 'time_S'?"),
    "an Excel workbook": (lambda _: b"PK\x03\x04...", "Excel"),
    "an empty file": (lambda _: b"", "empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_one_message_and_no_file(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write, told = REFUSED[case]
    path = tmp_path / "times.csv"
    path.write_bytes(write(measured()))
    assert train(path, "time_s") in (3, 4)
    said = capsys.readouterr().err
    assert told in " ".join(said.split())
    assert "times.csv" in said.replace("\n", "")
    assert not path.with_suffix(".json").exists()


@pytest.mark.parametrize(("n_rows", "options"), [(3, []), (5, []), (8, EVERY)], ids=["3", "5", "8"])
def test_few_rows_say_so(n_rows: int, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "times.csv"
    path.write_bytes(few(n_rows)(measured()))
    code = train(path, "time_s", *options)
    output = capsys.readouterr()
    assert code in (0, 3, 4)
    assert str(n_rows) in output.out + output.err
