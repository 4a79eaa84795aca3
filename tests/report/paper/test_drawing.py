"""Which figures are drawn of which tables, into which files, and why others are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from mlperf.core.errors import UsageError
from mlperf.report.paper import PAPER_FIGURES, draw_paper_figures
from mlperf.report.paper.drawing import slug
from mlperf.report.text.views import result_text
from mlperf.studies.paper.figure_inputs import FigureInputs

pytestmark = pytest.mark.slow


def test_every_figure_of_the_paper_is_drawn_or_skipped_with_the_missing_tables(runs_material: FigureInputs, tmp_path: Path) -> None:
    result = draw_paper_figures(runs_material, tmp_path, ("svg", "csv"))
    assert [item.number for item in result.drawn] == [9, 10, 11, 12]
    reasons = {item.number: item.reason for item in result.skipped}
    assert sorted([*reasons, *(item.number for item in result.drawn)]) == list(range(4, 14))
    assert "sgemm.csv" in reasons[4]
    assert "kernels.csv and steps.csv" in reasons[7]
    assert "second machine" in reasons[13]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"figure-{number:02}.{ending}" for number in (9, 10, 11, 12) for ending in ("csv", "svg")
    ]


def test_the_numbers_of_a_figure_are_written_as_they_are_drawn(runs_material: FigureInputs, tmp_path: Path) -> None:
    (item,) = draw_paper_figures(runs_material, tmp_path, ("csv", "png"), [9]).drawn
    table = pd.read_csv(item.files[0])
    assert len(table) == item.n_rows == 12
    runs = runs_material.campaign.table("runs")
    assert table["max_s"].max() == pytest.approx(runs["gpu_iteration_s"].max())
    assert Path(item.files[1]).read_bytes().startswith(b"\x89PNG")


def test_the_caption_is_in_the_picture_and_in_the_result(runs_material: FigureInputs, tmp_path: Path) -> None:
    result = draw_paper_figures(runs_material, tmp_path, numbers=[10])
    (item,) = result.drawn
    assert item.caption.startswith("Figure 10. T_Update")
    assert "emulated" in item.caption
    text = result_text(result)
    assert item.caption in text
    assert str(tmp_path / "figure-10.svg") in text


def test_modes_have_files_of_their_own(mixed_material: FigureInputs, tmp_path: Path) -> None:
    names = [Path(item.files[0]).name for item in draw_paper_figures(mixed_material, tmp_path, numbers=[9]).drawn]
    assert names == ["figure-09-emulated-gradient-memory-network-x5.svg", "figure-09-real.svg"]
    assert slug("emulated gradient+memory x5") == "emulated-gradient-memory-x5"


def test_a_campaign_without_runs_skips_what_needs_them(small_material: FigureInputs, tmp_path: Path) -> None:
    result = draw_paper_figures(replace(small_material, machines=()), tmp_path, numbers=[4, 5, 9, 11])
    assert [item.number for item in result.drawn] == [4, 5]
    assert all("components.csv and runs.csv" in item.reason for item in result.skipped)


def test_the_same_campaign_gives_the_same_bytes(runs_material: FigureInputs, tmp_path: Path) -> None:
    first, second = (draw_paper_figures(runs_material, tmp_path / name, numbers=[9]).drawn[0].files[0] for name in ("a", "b"))
    assert Path(first).read_bytes() == Path(second).read_bytes()


@pytest.mark.parametrize(("formats", "numbers", "message"), [(("gif",), None, "format 'gif'"), (("svg",), [3], "figure 3")])
def test_unknown_formats_and_numbers_are_refused(
    runs_material: FigureInputs, tmp_path: Path, formats: tuple[str, ...], numbers: list[int] | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        draw_paper_figures(runs_material, tmp_path, formats, numbers)


def test_the_table_names_makers_that_exist() -> None:
    for kind in PAPER_FIGURES:
        assert callable(kind.maker())
