"""Names of columns as people write them: quoted in terms, and kept through fit, print and storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import UsageError
from mlperf.models import StepwiseOLS, read_model, write_model
from mlperf.models.formula.expressions import Name, column_term, names, parse, text

NAMES = ("batch size", "size [KiB]", "Größe/µm", "m*n", "a:b", "1st", "(x)", "~", "p-value", "два")


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_name_is_a_term(name: str) -> None:
    assert parse(column_term(name)) == Name(name)
    assert names(parse(f"log({column_term(name)}) * m")) == [name, "m"]
    assert text(parse(f"log(`{name}`)")) == f"log({column_term(name)})"


def test_plain_names_are_not_quoted() -> None:
    assert [column_term(name) for name in ("m", "time_s", "größe", "m²", "x.y", ".x")] == [
        "m",
        "time_s",
        "größe",
        "m²",
        "x.y",
        ".x",
    ]


def test_a_backquote_cannot_be_quoted() -> None:
    with pytest.raises(UsageError, match="without backquotes"):
        column_term("a`b")


def test_an_unquoted_name_gets_the_remedy() -> None:
    with pytest.raises(UsageError, match="got 'size' at character 7, expected an operator or the end") as caught:
        parse("batch size")
    assert "backquotes: log(`size [KiB]`)" in str(caught.value.hint)


def test_quoted_terms_are_fitted_printed_and_stored(tmp_path: Path) -> None:
    """Coefficients are those that made the rows; the factor's column is named as R names it."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.lognormal(size=60) for name in NAMES}).assign(**{"gpu name": ["A 100", "V-100", "K 80"] * 20})
    times = 3 + 2 * np.log(frame["batch size"] + 9) + 5 * frame["m*n"] * frame["Größe/µm"] + 4 * (frame["gpu name"] == "K 80")
    times *= 1 + 1e-6 * rng.normal(size=60)
    terms = ["log(`batch size` + 9)", "`m*n` * `Größe/µm`", "`gpu name`", "`~`"]
    fitted = StepwiseOLS(terms=terms).fit(frame, times)
    coefficients = fitted.report_.to_frame()["coef"]
    assert coefficients[["log(`batch size` + 9)", "I(`m*n` * `Größe/µm`)", "`gpu name`K 80"]].tolist() == pytest.approx(
        [2, 5, 4], rel=1e-4
    )
    write_model(fitted, tmp_path / "model.json")
    assert (read_model(tmp_path / "model.json").predict(frame) == fitted.predict(frame)).all()
