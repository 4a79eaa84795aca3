"""What is pasted elsewhere gives the same numbers there: statsmodels fits it again, a spreadsheet's formula is worked out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import mlperf
from mlperf.models.estimators.stepwise.pasted import letters, pasted_formulas

N_ROWS = 120


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {"m": rng.integers(1, 60, N_ROWS), "batch size": rng.integers(1, 9, N_ROWS), "k": rng.uniform(0.5, 4.0, N_ROWS)}
    )
    return table.assign(gpu=rng.choice(["A", 'x "y"', "b"], N_ROWS), lambda_=rng.uniform(1.0, 2.0, N_ROWS))


def fitted(rows: pd.DataFrame, **options: Any) -> tuple[mlperf.StepwiseOLS, pd.DataFrame]:
    rng = np.random.default_rng(9)
    factor = rows["gpu"].map({"A": 1.0, 'x "y"': 2.0, "b": 0.5})
    times = (3.0 + 0.1 * rows["m"] * rows["batch size"] * factor + 2.0 * rows["k"] ** 2) * np.exp(
        0.02 * rng.standard_normal(N_ROWS)
    )
    table = rows.assign(**{"time (ms)": times})
    model = mlperf.StepwiseOLS(report="none", **options).fit(rows, pd.Series(times, name="time (ms)"))
    return model, table


TERMS = [
    ["m * `batch size`", "gpu", "I(m*`batch size`):gpu", "k^2"],
    ["-m^2 / (k + 1)", "log2(k)", "max(m, k, `batch size`)", "gpu"],
    ["sqrt(m)", "m^-1", "log1p(k)", "exp(-k)", "log10(m)", "abs(k - 2)"],
]


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("noise", ["relative", "absolute"])
def test_statsmodels_fits_the_pasted_call_to_the_same_coefficients(rows: pd.DataFrame, terms: list[str], noise: str) -> None:
    model, table = fitted(rows, terms=terms, lower=terms, noise=noise)
    call = pasted_formulas(model, "time (ms)").statsmodels
    assert call.startswith("smf.wls(" if noise == "relative" else "smf.ols(")
    again = eval(call, {"smf": smf, "data": table, "np": np})  # noqa: S307 - a user pastes it into Python
    expected = dict(zip(model.report_.names, model.spread_.coef, strict=True))
    assert len(again.params) == len(expected)
    np.testing.assert_allclose(np.sort(again.params), np.sort(list(expected.values())), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(again.predict(table), model.predict(rows), rtol=1e-9)


@pytest.mark.parametrize("terms", TERMS)
def test_the_cell_s_formula_predicts_every_row(rows: pd.DataFrame, terms: list[str]) -> None:
    model, _ = fitted(rows, terms=terms, lower=terms, noise="relative")
    found = pasted_formulas(model, "time (ms)", scale=1.25)
    worked_out = [cell_value(found.spreadsheet, found.cells, row) for row in rows.to_dict(orient="records")]
    np.testing.assert_allclose(worked_out, 1.25 * model.predict(rows), rtol=1e-12)


def cell_value(formula: str, cells: Any, row: dict[str, Any]) -> float:
    """A spreadsheet's formula on one row, by Python's arithmetic: powers bind alike once every sign stands in brackets."""
    assert not re.search(r"(?<![(E,=])-[A-Z]+2\^", formula)
    values = {f"{letter}2": row[name] for name, letter in cells.items()}
    functions = {
        "IF": lambda true, one, other: one if true else other,
        "EXACT": lambda left, right: str(left) == right,
        "OR": lambda *each: any(each),
        "UPPER": lambda value: str(value).upper(),
        "LN": np.log,
        "LOG": lambda value, base: np.log(value) / np.log(base),
        "LOG10": np.log10,
        "SQRT": np.sqrt,
        "EXP": np.exp,
        "ABS": abs,
        "MIN": min,
        "MAX": max,
    }
    text = re.sub(r'"((?:[^"]|"")*)"', lambda found: repr(found[1].replace('""', '"')), formula.removeprefix("="))
    text = text.replace("=TRUE()", " is True").replace("=FALSE()", " is False")
    return float(eval(text.replace("^", "**"), functions, values))  # noqa: S307 - made from our own terms


def test_a_spreadsheet_s_own_truth_values_are_levels(rows: pd.DataFrame) -> None:
    """A cell ``True`` of a CSV file becomes the value TRUE, whose text is no longer ``True``."""
    table = rows.assign(flag=np.arange(N_ROWS) % 2 == 0)
    model, _ = fitted(table, terms=["m", "flag"], lower=["m", "flag"])
    found = pasted_formulas(model, "y")
    assert 'IF(OR(B2=TRUE(),EXACT(UPPER(B2),"TRUE")),1,0)' in found.spreadsheet
    expected = model.predict(table)
    for place in (0, 1):
        row = table.iloc[place].to_dict()
        for cell in (bool(row["flag"]), str(row["flag"]).upper(), str(row["flag"])):
            assert cell_value(found.spreadsheet, found.cells, row | {"flag": cell}) == pytest.approx(expected[place], rel=1e-12)
    both, _ = fitted(table.assign(flag=table["flag"].map({True: "true", False: "TRUE"})), terms=["m", "flag"])
    assert "OR(" not in pasted_formulas(both, "y").spreadsheet


def test_r_reads_the_call_that_is_printed(rows: pd.DataFrame) -> None:
    model, _ = fitted(
        rows, terms=["m * `batch size`", "gpu", "max(m, k)"], lower=["m * `batch size`", "gpu", "max(m, k)"], noise="relative"
    )
    call = pasted_formulas(model, "time (ms)").r
    assert call == "lm(`time (ms)` ~ I(m * `batch size`) + gpu + pmax(m, k), weights = 1/`time (ms)`^2, data = data)"
    plain, _ = fitted(rows, terms=["m"], lower=["m"], fit_intercept=False)
    assert pasted_formulas(plain, "y").r == "lm(y ~ m - 1, data = data)"


def test_products_beyond_the_whole_numbers_of_a_program_are_fractions_there() -> None:
    """In R whole numbers end at 2^31, where ``lm`` leaves the row out; NumPy's begin again behind 2^63."""
    rng = np.random.default_rng(10)
    rows = pd.DataFrame({name: rng.integers(2**20, top, N_ROWS) for name, top in (("m", 2**21), ("n", 2**31), ("k", 2**31))})
    product = rows["m"].astype(float) * rows["n"] * rows["k"]
    table = rows.assign(time_s=(1.0 + 1e-24 * product) * np.exp(0.02 * rng.standard_normal(N_ROWS)))
    terms = ["m*n*k", "sqrt(m*n*k)", "m^2"]
    model = mlperf.StepwiseOLS(terms=terms, lower=terms, report="none").fit(rows, table["time_s"])
    found = pasted_formulas(model, "time_s")
    assert found.r == "lm(time_s ~ I(1 * m * n * k) + sqrt(1 * m * n * k) + I(m^2), data = data)"
    assert "I(1.0 * m * n * k) + np.sqrt(1.0 * m * n * k) + I(m ** 2.0)" in found.statsmodels
    again = eval(found.statsmodels, {"smf": smf, "data": table, "np": np})  # noqa: S307 - a user pastes it into Python
    np.testing.assert_allclose(again.predict(table), model.predict(rows), rtol=1e-6)
    small = mlperf.StepwiseOLS(terms=terms, lower=terms, report="none").fit(rows // 2**20, table["time_s"])
    assert "1 *" not in pasted_formulas(small, "time_s").r


def test_statsmodels_keeps_a_constant_beside_the_flops_of_long_steps() -> None:
    rng = np.random.default_rng(12)
    rows = pd.DataFrame({"flops": rng.uniform(1e15, 5e17, N_ROWS), "batch": rng.integers(1, 64, N_ROWS)})
    times = (0.01 + rows["flops"] / 3e17 + 0.002 * rows["batch"]) * np.exp(0.02 * rng.standard_normal(N_ROWS))
    terms = ["flops", "batch"]
    model = mlperf.StepwiseOLS(terms=terms, lower=terms, noise="relative", report="none").fit(rows, times)
    call = pasted_formulas(model, "t").statsmodels
    again = eval(call, {"smf": smf, "data": rows.assign(t=times), "np": np})  # noqa: S307 - a user pastes it into Python
    np.testing.assert_allclose(again.params, [model.intercept_, *model.coef_], rtol=1e-6)


def test_labels_that_look_like_numbers_are_factors_in_r(rows: pd.DataFrame) -> None:
    table = rows.assign(sm=np.where(rows["m"] > 30, "80", "90"))
    model, _ = fitted(table, terms=["k", "sm", "sm:I(k)"], lower=["k", "sm"])
    assert pasted_formulas(model, "y").r.startswith("lm(y ~ k + factor(sm)")


def test_r_s_own_words_and_names_stand_in_backquotes(rows: pd.DataFrame) -> None:
    table = rows.assign(**{"if": rows["m"], "_k": rows["k"]})
    model, _ = fitted(table, terms=["`if`*`_k`"], lower=["`if`*`_k`"], noise="relative")
    assert pasted_formulas(model, "repeat").r == "lm(`repeat` ~ I(`if` * `_k`), weights = 1/`repeat`^2, data = data)"


def test_a_column_beside_the_terms_may_hide_a_function_of_patsy(rows: pd.DataFrame) -> None:
    model, _ = fitted(rows, terms=["m", "gpu"], lower=["m", "gpu"])
    assert pasted_formulas(model, "y", others=["I"]).statsmodels
    found = pasted_formulas(model, "y", others=["C"])
    assert found.statsmodels == ""
    assert any("the column C hides a function of patsy" in note for note in found.notes)


def test_what_a_program_cannot_say_is_said(rows: pd.DataFrame) -> None:
    model, _ = fitted(rows, terms="~ poly(k, 2) + m", lower="~ poly(k, 2) + m")
    found = pasted_formulas(model, "y")
    assert found.r == "lm(y ~ poly(k, 2) + m, data = data)"
    assert (found.statsmodels, found.spreadsheet) == ("", "")
    assert any("orthogonal polynomial" in note for note in found.notes)
    hidden, _ = fitted(rows.assign(C=rows["k"]), terms=["C", "gpu"], lower=["C", "gpu"])
    assert any("hides a function of patsy" in note for note in pasted_formulas(hidden, "y").notes)


def test_letters_go_on_after_z() -> None:
    assert [letters(place) for place in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
