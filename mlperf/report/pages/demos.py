"""How the demo is shown: a short story in tables, its figures, and one page that holds both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.files import write_bytes_whole
from mlperf.core.places import make_folder
from mlperf.report.figures.figures import figure_bytes, svg_element
from mlperf.report.figures.html import Picture, write_page
from mlperf.report.figures.plots import residuals
from mlperf.report.pages.answers import epoch_answer, search_answer
from mlperf.report.pages.models import accuracy_table
from mlperf.report.pages.predictions import PREDICTED_WORDS, comparison_figure, prediction_figure, prediction_sections
from mlperf.report.pages.searches import windows_text
from mlperf.report.text.answer import listed
from mlperf.report.text.views import Section, result_answer, result_figure, result_sections
from mlperf.report.text.words import TITLE, words_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.studies.demo import Demo


CAPTIONS = {
    "measured_predicted": "Training steps of networks that nothing was fitted on: measured against predicted, with the 95 % "
    "interval of a step. On the line the prediction is exact.",
    "residuals": "The same steps: how far each prediction is off, over the predicted time.",
    "breakdown": "Where the time of one iteration goes, in the thread of a GPU and in the thread that updates the weights.",
    "search": "Epoch time and mean mini-batch size over nodes and sub-batch; pale: outside the window of the mini-batch.",
}
"""What each figure shows, by file name."""


def demo_sections(result: Demo) -> tuple[Section, ...]:
    """What was done and found in a few lines; the tables are details."""
    return (Section("", text="\n".join(found_lines(result))), *(replace(part, is_detail=True) for part in detail_sections(result)))


def found_lines(result: Demo) -> tuple[str, ...]:
    """What else was asked, and what came out."""
    return (
        f"Held out: {listed(result.held_out, 6)}.",
        f"One of them asked: {epoch_answer(result.prediction).brief()}.",
        f"Its fastest run, {windows_text(result.search)}: {search_answer(result.search).brief()}.",
        "Next: mlperf collect --help (measure this machine); -v shows every table.",
    )


def detail_sections(result: Demo) -> tuple[Section, ...]:
    """Trained on what, how far off, then an epoch and a search."""
    parts = (
        Section(f"Campaign {result.campaign}", text=story(result)),
        Section("Error on CNNs left out of the fit, one at a time or in folds", accuracy_table(result.model)),
        Section("Held-out CNNs: predicted against measured training steps", held_out(result)),
        Section("", text=coverage_text(result)),
        *prediction_sections(result.prediction),
        *result_sections(result.search),
    )
    words = words_section("left out", "mape", "halves differ", *PREDICTED_WORDS, "window", "Pareto front")
    return (*(part for part in parts if part.title != TITLE), words)


def story(result: Demo) -> str:
    """How many networks were fitted on and held out."""
    trained, held = len(result.model.cnns), len(result.held_out)
    return f"Trained on {trained} CNNs; nothing was fitted on the {held} held-out ones: {', '.join(result.held_out)}."


def held_out(result: Demo) -> pd.DataFrame:
    """One row a held-out (CNN, sub-batch): measured, predicted, 95 % interval, error."""
    table = result.comparison.table.sort_values(["cnn", "subbatch_size"])
    return pd.DataFrame(
        {
            "cnn": table["cnn"],
            "subbatch_size": table["subbatch_size"],
            "measured_s": table["measured"],
            "predicted_s": table["predicted"],
            "low_s": table["lower"],
            "high_s": table["upper"],
            "inside": table["inside"],
            "relative_error": table["relative_error"],
            "in_domain": table["in_domain"],
        }
    )


def coverage_text(result: Demo) -> str:
    """How many measurements lie inside their interval, and the error over all of them."""
    table = result.comparison.table
    inside = int(table["inside"].sum())
    return f"{inside} of {len(table)} measurements lie inside their 95 % interval; MAPE {100 * result.comparison.mape:.2f} %."


def demo_figure(result: Demo) -> Figure:
    """Held-out steps, predicted against measured."""
    return comparison_figure(result.comparison)


def demo_figures(result: Demo) -> dict[str, Figure]:
    """Every figure by file name, without ending."""
    table = result.comparison.table
    return {
        "measured_predicted": comparison_figure(result.comparison),
        "residuals": residuals(
            table["measured"].to_numpy(float),
            table["predicted"].to_numpy(float),
            groups=[f"sub-batch {size}" for size in table["subbatch_size"]],
            halves_differ=result.model.score.noise_floor,
            title="Residuals of the held-out CNNs",
        ),
        "breakdown": prediction_figure(result.prediction),
        "search": result_figure(result.search),
    }


def write_demo(result: Demo, folder: Path) -> list[Path]:
    """Write the figures as SVG and one self-contained page with tables and figures.

    Raises
    ------
    MissingExtraError
        matplotlib or jinja2 is not installed; nothing is written.
    """
    figures = demo_figures(result)
    make_folder(folder)
    drawn = {name: figure_bytes(figure, "svg") for name, figure in figures.items()}
    found, *rest = demo_sections(result)
    pictures = [Picture("", svg_element(file), CAPTIONS[name]) for name, file in drawn.items()]
    page = folder / "demo.html"
    write_page(page, f"mlperf demo: {result.campaign}", [pictures[0], found, *pictures[1:], *rest], lead=result_answer(result))
    written = {folder / f"{name}.svg": file for name, file in drawn.items()}
    for path, file in written.items():
        write_bytes_whole(path, file)
    return [page, *written]
