"""The page about forecasting shows what its recorded run gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.forecast import Watched, replay
from mlperf.report.text.views import result_text

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def replayed() -> Watched:
    return replay(DOCS / "images" / "online_forecast.csv")


def test_the_figures_of_the_page_are_those_of_the_record(replayed: Watched) -> None:
    page = (DOCS / "how-to" / "online.md").read_text(encoding="utf-8")
    shown = [" ".join(line.split()) for line in result_text(replayed, everything=False).splitlines() if line and "─" not in line]
    lines = {" ".join(line.split()) for line in page.splitlines()}
    assert len(shown) > 14
    assert not [line for line in shown if line not in lines]


def test_the_forecast_of_the_real_run_beats_persistence(replayed: Watched) -> None:
    assert replayed.mase < 0.96
    assert 0.85 < replayed.coverage < 0.95
    assert not replayed.persistence_is_better
