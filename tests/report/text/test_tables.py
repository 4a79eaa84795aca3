"""Frames as aligned tables: headings, units, alignment, absent values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.report.text.tables import column_view
from mlperf.report.text.views import result_text


def test_seconds_get_one_unit_a_column() -> None:
    column = column_view("gpu_iteration_s", [0.0005, 0.25, 0.5])
    assert column.heading == "gpu iteration (ms)"
    assert column.cells == ("0.5000", "250.0", "500.0")
    assert column_view("epoch_s", [7200.0], "min").cells == ("120.0",)


def test_a_rate_is_not_a_time() -> None:
    assert column_view("flop_per_s", [2e9]).heading == "flop per s"


def test_bytes_percent_counts_flags_words_and_absent_values() -> None:
    assert column_view("memory_bytes", [2.0**31]).heading == "memory (GiB)"
    assert column_view("relative_error", [0.08, None]).cells == ("8.00 %", "-")
    assert column_view("n_params", [138357544]).cells == ("138,357,544",)
    assert column_view("in_domain", [np.bool_(True), False]).cells == ("yes", "no")
    assert column_view("cnn", ["vgg16", None, float("nan")]).cells == ("vgg16", "-", "-")


@dataclass(frozen=True, slots=True, eq=False)
class Ranking(Shown):
    """Rows of a ranking."""

    frame: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        return self.frame


def test_the_text_of_a_result_is_aligned_and_never_cut() -> None:
    words = ["a" * 120, "b"]
    text = result_text(Ranking(pd.DataFrame({"name": words, "epoch_s": [100.0, 2.0]})))
    lines = text.splitlines()
    assert "a" * 120 in text
    assert len({len(line) for line in lines}) == 1
    assert lines[-1].endswith("0.03333")


def test_sentences_are_wrapped_and_names_are_not() -> None:
    text = result_text(Ranking(pd.DataFrame({"name": ["n" * 90], "doc": ["word " * 40]})))
    assert "n" * 90 in text
    assert text.count("word") == 40
    assert max(len(line) for line in text.splitlines()) < 90 + 2 + 64 + 4
