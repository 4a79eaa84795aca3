"""The demo's page and figures, with and without what draws them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from mlperf.cli.main import cli
from mlperf.datasets import read_table, write_table
from mlperf.report.pages.demos import write_demo
from mlperf.studies.demo import run_demo


@pytest.fixture(scope="session")
def shown_demo(small_campaign: Path) -> Any:
    return run_demo(small_campaign)


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


def doubled(campaign: Path, cnn: str, folder: Path) -> Path:
    """A copy in which every measured time of one CNN is twice as long."""
    shutil.copytree(campaign, folder)
    for table in ("kernels", "steps"):
        path = folder / f"{table}.csv"
        frame = read_table(path, table)
        times = [name for name in ("step_s", "cpu_s", "wall_s") if name in frame]
        frame.loc[frame["cnn"] == cnn, times] *= 2.0
        write_table(frame, path, table)
    return folder


def fitted(demo: Any) -> dict[str, Any]:
    """Everything of the model but where it comes from."""
    return {key: value for key, value in demo.model.to_dict().items() if key != "provenance"}


def test_doubling_a_held_out_cnn_changes_what_was_measured_and_nothing_of_the_fit(
    shown_demo: Any, small_campaign: Path, tmp_path: Path
) -> None:
    held = shown_demo.held_out[0]
    again = run_demo(doubled(small_campaign, held, tmp_path / "held"))
    before, after = shown_demo.comparison.table, again.comparison.table
    there = (before["cnn"] == held).to_numpy()
    assert after["measured"].to_numpy() == pytest.approx(np.where(there, 2.0, 1.0) * before["measured"].to_numpy(), rel=1e-12)
    assert after["predicted"].equals(before["predicted"])
    assert fitted(again) == fitted(shown_demo)


def test_doubling_a_training_cnn_changes_the_fit(shown_demo: Any, small_campaign: Path, tmp_path: Path) -> None:
    again = run_demo(doubled(small_campaign, shown_demo.model.cnns[0], tmp_path / "trained"))
    assert fitted(again)["kernels"] != fitted(shown_demo)["kernels"]
    assert not again.comparison.table["predicted"].equals(shown_demo.comparison.table["predicted"])
