"""Results show themselves: few lines however large, JSON types whatever they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown, plain


@dataclass(frozen=True, slots=True)
class Small(Shown):
    seconds: Any
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Tabular(Shown, frame="rows"):
    title: str
    rows: pd.DataFrame


def test_the_named_field_is_the_frame() -> None:
    rows = pd.DataFrame({"a": [1, 2]})
    assert Tabular("two", rows).to_frame() is rows
    assert Small(1.0, "x").to_frame()["field"].tolist() == ["seconds", "name"]


def test_json_types() -> None:
    assert plain({"a": np.array([1.0, np.nan, np.inf]), "b": (True, None)}) == {"a": [1.0, "NaN", "Inf"], "b": [True, None]}
    assert Small(np.float64(-np.inf), "x").to_dict() == {"seconds": "-Inf", "name": "x"}


def test_markup_in_a_value_is_escaped() -> None:
    assert "<script>" not in Small(1.0, "<script>")._repr_html_()


def test_a_large_result_is_few_lines(small_model: Any) -> None:
    text = repr(small_model)
    assert text.startswith("Model\n")
    assert len(text) < 4000
