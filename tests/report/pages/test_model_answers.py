"""The first line of models, reports and studies holds the figures of the result itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import mlperf
from mlperf.report.pages.model_answers import equation_answer, model_answer, report_answer, watched_answer
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import result_answer
from mlperf.studies.kernels import PUBLISHED
from mlperf.training.reported_model import model_report


def test_a_model_tells_its_error_on_networks_left_out(small_model: Any) -> None:
    errors = small_model.score.accuracy.set_index("method")["mape"]
    text = model_answer(small_model).text()
    assert text.startswith(f"model of {len(small_model.cnns)} networks, numpy: ")
    assert f"missed by {percent_text(errors['learnt'])} on average" in text
    assert f"by {percent_text(errors['linear'])} with the linear model" in text
    assert all(name in text for name in small_model.absent)


def test_its_report_counts_the_warnings(small_model: Any) -> None:
    report = model_report(small_model)
    assert f"{sum(len(part.warnings) for part in report.parts)} warnings on its fits" in report_answer(report).text()


def test_the_printed_equation_is_told_to_be_no_cost() -> None:
    assert "its coefficients are no costs" in equation_answer(PUBLISHED).text()


@pytest.mark.parametrize(("mape", "by_logarithms"), [(0.30, False), (0.42, True)])
def test_a_verdict_that_relative_errors_do_not_share_says_so(mape: float, by_logarithms: bool) -> None:
    found: Any = SimpleNamespace(
        performance="units", horizon_s=1.0, n_scored=9, mape=mape, persistence_mape=0.4, mase=0.99, verdict="the forecast is better"
    )
    assert ("by their logarithms, the forecast is better" in watched_answer(found).text()) == by_logarithms


def test_results_without_an_answer_have_none() -> None:
    assert result_answer(mlperf.datasets.list_data()) == ""
