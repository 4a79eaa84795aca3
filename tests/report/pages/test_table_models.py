"""The page and the sections of a table's model: nothing left out, names from elsewhere escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

import mlperf
from mlperf.core.errors import UsageError
from mlperf.report.figures.html import html_page
from mlperf.report.pages.table_models import path_sections, table_sections
from mlperf.report.text.views import result_figure, result_page
from mlperf.training.reported_model import ModelReport, model_report
from mlperf.training.table.table_model import TableModel

pytestmark = pytest.mark.slow

NAME = 'size "<script>alert(1)</script>" $x_{1}$ & more'


@pytest.fixture(scope="module")
def model() -> TableModel:
    rng = np.random.default_rng(21)
    table = pd.DataFrame(
        {NAME: rng.uniform(1.0, 90.0, 120), "n": rng.integers(1, 9, 120), "net": rng.choice(["<b>a</b>", "b", "c", "d"], 120)}
    )
    times = (3.0 + table[NAME] * table["n"]) * np.exp(0.05 * rng.standard_normal(120))
    terms = [f"`{NAME}`*n", f"`{NAME}`", "n", "n^2"]
    return mlperf.train(table.assign(time_s=times), target="time_s", terms=terms, groups="net", method="ols")


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_holds_every_picture_and_no_script(model: TableModel) -> None:
    report = model_report(model)
    page = Page(html_page("Report", result_page(report), lead="Good."))
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert page.tags.count("svg") == 3 + 2 + 1 + 1
    assert NAME in page.text
    for words in ("Partial effects", "each predicted by a model that had not seen it", "The formula to paste", "lm(time_s ~ "):
        assert words in page.text
    assert all(link.startswith("#") for link in page.links)


def test_long_tables_of_drops_are_cut_in_a_terminal_alone(model: TableModel) -> None:
    report = model_report(model)
    assert report.table is not None
    short = path_sections(report.parts[0], report.table, 3)[-1]
    whole = path_sections(report.parts[0], report.table, 1000)[-1]
    assert short.title.startswith("Last table of drops")
    assert short.text.startswith("Step:")
    assert short.text in whole.text
    assert whole.text.startswith("Start:")


def test_a_campaign_s_report_has_no_table() -> None:
    with pytest.raises(UsageError, match="campaign"):
        table_sections(ModelReport((), pd.DataFrame(), ()))


def test_a_model_that_left_nothing_out_cannot_be_drawn() -> None:
    few = pd.DataFrame({"a": [1.0, 2.0, 2.0, 1.0], "time_s": [1.0, 2.1, 2.0, 1.1]})
    model = mlperf.train(few, target="time_s", terms=["a"], report="none")
    with pytest.raises(UsageError, match="no left-out rows"):
        result_figure(model)
