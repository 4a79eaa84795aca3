"""A fit as sections says, word by word, what its text says."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.console import Console

import mlperf
from mlperf.report.pages.fits import fit_sections
from mlperf.report.text.views import WIDE, section_text


def fitted() -> mlperf.StepwiseOLS:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.uniform(1, 9, 40), "b": rng.uniform(1, 9, 40)})
    return mlperf.StepwiseOLS(terms=("a", "b", "a*b")).fit(X, 2 + 3 * X["a"] * np.exp(rng.normal(0, 0.1, 40)))


def test_no_figure_of_the_report_is_lost_or_changed() -> None:
    report = fitted().report_
    console = Console(width=WIDE, no_color=True)
    text = "\n".join(section_text(section, console) for section in fit_sections("title", report))
    rule = {word for word in text.split() if set(word) == {"─"}}
    told = set(text.replace("std err", "std_err").split()) - rule
    assert told == set(str(report).split()) | {"title", "term"}


def test_coefficients_stand_right_and_bounds_leave_together() -> None:
    section = fit_sections("title", fitted().report_)[1]
    narrow = section_text(section, Console(width=62, no_color=True), everything=False)
    assert "not shown" in narrow
    assert ("97.5 %" in narrow.partition("not shown")[0]) == ("2.5 %" in narrow.partition("not shown")[0].replace("97.5 %", ""))
    coefficients = [line for line in narrow.splitlines() if line.startswith("(Intercept)")]
    assert len(coefficients) == 1
