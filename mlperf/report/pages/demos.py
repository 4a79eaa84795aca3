"""How the demo is shown: a short story in tables, its figures, and one page that holds both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.places import make_folder
from mlperf.report.figures.figures import save_figure
from mlperf.report.figures.html import Picture, write_page
from mlperf.report.figures.plots import residuals
from mlperf.report.pages.models import accuracy_table
from mlperf.report.pages.predictions import comparison_figure, prediction_figure, prediction_sections
from mlperf.report.text.views import Section, result_figure, result_sections

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.studies.demo import Demo


def demo_sections(result: Demo) -> tuple[Section, ...]:
    """Trained on what, how far off, then an epoch and a search."""
    return (
        Section(f"Campaign {result.campaign}", text=story(result)),
        Section("Error on CNNs left out of the fit, one at a time or in folds", accuracy_table(result.model)),
        Section("Held-out CNNs: predicted against measured training steps", held_out(result)),
        Section("", text=coverage_text(result)),
        *prediction_sections(result.prediction),
        *result_sections(result.search),
    )


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
            noise_floor=result.model.score.noise_floor,
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
    written = [folder / f"{name}.svg" for name in figures]
    pictures = [Picture("", figure) for figure in figures.values()]
    page = folder / "demo.html"
    write_page(page, f"mlperf demo: {result.campaign}", [*pictures, *demo_sections(result)])
    for path, figure in zip(written, figures.values(), strict=True):
        save_figure(figure, path)
    return [page, *written]
