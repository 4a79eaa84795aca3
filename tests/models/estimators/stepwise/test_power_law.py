"""The printed formulas of a power law give its predictions."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest

from mlperf.models.estimators.stepwise.log_stepwise import LogStepwiseOLS
from mlperf.models.estimators.stepwise.power_law import power_law


def rows(n_rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"m": 2.0 ** rng.integers(3, 12, n_rows), "my n": rng.uniform(1.0, 9.0, n_rows), "gpu": ["A", "B", "C"] * 20}
    )
    speed = frame["gpu"].map({"A": 1.0, "B": 2.0, "C": 5.0})
    power = frame["m"] ** (0.9 + 0.05 * np.log(frame["my n"]) + 0.1 * (frame["gpu"] == "B"))
    return frame.assign(time_s=3e-6 * power * frame["my n"] ** -1.5 * speed * np.exp(0.1 * rng.standard_normal(n_rows)))


def worked_out(formula: str, row: pd.Series) -> float:
    """The formula as somebody would work it out by hand."""
    total = 1.0
    for line in formula.partition(" = ")[2].splitlines():
        product, _, condition = line.strip().removeprefix("* ").partition(" where ")
        if all(f"{row['gpu']}" == each.removeprefix("gpu is ") for each in condition.split(" and ") if each):
            python = re.sub(r"`([^`]*)`", lambda found: found[1].replace(" ", "_"), product).replace("^", "**")
            names = {str(name).replace(" ", "_"): value for name, value in row.items()}
            total *= eval(python, {"exp": math.exp, "log": math.log}, names)  # noqa: S307 - made from our own terms
    return total


@pytest.mark.parametrize("terms", [["log(m)", "log(`my n`)"], ["log(m)", "log(`my n`)", "log(m)*log(`my n`)", "gpu", "gpu:log(m)"]])
def test_the_formulas_give_the_predictions(terms: list[str]) -> None:
    table = rows()
    model = LogStepwiseOLS(terms).fit(table.drop(columns="time_s"), table["time_s"])
    found = power_law(model, "time_s", 1.1)
    for place in (0, 1, 2):
        row, expected = table.iloc[place], 1.1 * model.predict(table.drop(columns="time_s"))[place]
        assert worked_out(found.formula, row) == pytest.approx(expected, rel=1e-5)
        cells = {f"{letter}2": row[name] for name, letter in found.cells.items()}
        words = {"EXP": math.exp, "LN": math.log, "IF": lambda test, yes, no: yes if test else no, "EXACT": lambda a, b: a == b}
        sheet = eval(found.spreadsheet.removeprefix("="), words, cells)  # noqa: S307 - made from our own terms
        assert sheet == pytest.approx(expected, rel=1e-12)
    assert found.r.startswith("lm(log(time_s) ~ log(m) + log(`my n`)")


def test_a_law_of_sizes_alone_is_one_line_of_powers() -> None:
    table = rows()
    model = LogStepwiseOLS(["log(m)", "log(`my n`)"]).fit(table[["m", "my n"]], table["time_s"])
    assert re.fullmatch(r"time_s = [\d.e+-]+ \* m\^[\d.]+ \* `my n`\^\(-[\d.]+\)", power_law(model, "time_s").formula)
