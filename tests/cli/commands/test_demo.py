"""The demo's page and figures, with and without what draws them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from mlperf.cli.main import cli
from mlperf.report.text.views import result_answer, result_text

pytestmark = pytest.mark.slow


def invoke(demo: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """The command on a result that is at hand: what it computes is tested elsewhere."""
    monkeypatch.setattr("mlperf.studies.demo.run_demo", lambda *_, **__: demo)
    return CliRunner().invoke(cli, ["demo", "--out", str(folder)], catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo's files go."""
    return tmp_path_factory.mktemp("demo") / "out"


@pytest.fixture(scope="module")
def done(shown_demo: Any, folder: Path) -> Iterator[Result]:
    """The command, which writes them."""
    with pytest.MonkeyPatch.context() as patch:
        yield invoke(shown_demo, folder, patch)


@pytest.fixture(scope="module")
def page(done: Result, folder: Path) -> str:
    """The page among them."""
    assert done.exit_code == 0
    return (folder / "demo.html").read_text(encoding="utf-8")


def test_the_page_is_self_contained_and_the_figures_stand_beside_it(shown_demo: Any, folder: Path, page: str) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "breakdown.svg",
        "demo.html",
        "measured_predicted.svg",
        "residuals.svg",
        "search.svg",
    ]
    assert page.count("<svg") == 4
    assert page.rstrip().endswith("</html>")
    for held in shown_demo.held_out:
        assert held in page
    for address in ('src="http', 'href="http', "@import"):
        assert address not in page


def test_the_figures_are_those_of_the_page(folder: Path, page: str) -> None:
    """But for their ids, which a page may have once."""
    shown = re.sub(r'( id="|href="#|url\(#)p\d+-', r"\1", page)
    for path in folder.glob("*.svg"):
        assert path.read_text(encoding="utf-8").partition("<svg")[2] in shown


def test_people_see_how_many_lie_inside_their_interval(shown_demo: Any, done: Result) -> None:
    assert done.exit_code == 0
    inside = int(shown_demo.comparison.table["inside"].sum())
    assert f"{inside} of {len(shown_demo.comparison.table)} lie in their 95 % interval" in done.stdout
    assert "demo.html" in done.stderr
    assert "its 4 figures beside it" in " ".join(done.stderr.split())


def test_all_that_it_says_fits_in_fifteen_lines(shown_demo: Any) -> None:
    """The note on the files, and an empty line before it, come on top."""
    text = result_text(shown_demo, console=Console(width=80, no_color=True), everything=False)
    assert len(text.splitlines()) <= 13
    for word in ("trained on", "Held out", "an epoch (95 %", "Its fastest run", "Next: mlperf"):
        assert word in text
    everything = result_text(shown_demo, console=Console(width=80, no_color=True))
    assert f"measurements lie inside their 95 % interval; MAPE {100 * shown_demo.comparison.mape:.2f} %." in everything


def test_the_page_begins_with_the_answer_and_every_figure_has_a_caption(shown_demo: Any, page: str) -> None:
    assert escape(result_answer(shown_demo)) in page.partition("<svg")[0]
    assert page.count("<figcaption>") == page.count("<svg") == 4


def test_without_matplotlib_it_says_so_and_ends_well(shown_demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = invoke(shown_demo, tmp_path / "out", monkeypatch)
    assert done.exit_code == 0
    assert "no figures: extra 'report'" in done.stderr
    assert "mlperf-estimator[report]" in done.stderr
    assert not (tmp_path / "out").exists()
