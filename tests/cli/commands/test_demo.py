"""The demo's page and figures, with and without what draws them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mlperf.cli.main import cli
from mlperf.report.pages.demos import write_demo

pytestmark = pytest.mark.slow


def invoke(demo: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """The command on a result that is at hand: what it computes is tested elsewhere."""
    monkeypatch.setattr("mlperf.studies.demo.run_demo", lambda *_, **__: demo)
    return CliRunner().invoke(cli, ["demo", "--out", str(folder)], catch_exceptions=False)


def test_the_page_is_self_contained_and_the_figures_stand_beside_it(shown_demo: Any, tmp_path: Path) -> None:
    written = write_demo(shown_demo, tmp_path)
    assert sorted(path.name for path in written) == [
        "breakdown.svg",
        "demo.html",
        "measured_predicted.svg",
        "residuals.svg",
        "search.svg",
    ]
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert page.rstrip().endswith("</html>")
    for held in shown_demo.held_out:
        assert held in page
    for address in ('src="http', 'href="http', "@import"):
        assert address not in page


def test_people_see_how_many_lie_inside_their_interval(shown_demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = invoke(shown_demo, tmp_path / "out", monkeypatch)
    assert done.exit_code == 0
    inside = int(shown_demo.comparison.table["inside"].sum())
    assert f"{inside} of {len(shown_demo.comparison.table)} measurements lie inside their 95 % interval" in done.stdout
    assert "demo.html" in done.stderr


def test_without_matplotlib_it_says_so_and_ends_well(shown_demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = invoke(shown_demo, tmp_path / "out", monkeypatch)
    assert done.exit_code == 0
    assert "no figures: extra 'report'" in done.stderr
    assert "mlperf-estimator[report]" in done.stderr
    assert not (tmp_path / "out").exists()
