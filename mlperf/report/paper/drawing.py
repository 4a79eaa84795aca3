"""Draw every figure of the SPRINT paper that a campaign has the tables for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.core.extras import require
from mlperf.core.places import FIGURE_TYPES, make_folder
from mlperf.core.progress import tracked
from mlperf.datasets.campaigns.write import write_csv
from mlperf.report.figures.figures import add_caption, save_figure, style
from mlperf.report.paper.registry import PAPER_FIGURES, FigureKind
from mlperf.report.paper.result import Drawing, DrawnFigure, PaperFigures, SkippedFigure

if TYPE_CHECKING:
    from mlperf.studies.paper.figure_inputs import FigureInputs

FORMATS = (*FIGURE_TYPES, "csv")


def draw_paper_figures(
    material: FigureInputs, folder: Path, formats: Sequence[str] = ("svg",), numbers: Iterable[int] | None = None
) -> PaperFigures:
    """Write ``figure-04.svg`` to ``figure-13.svg``; a figure that cannot be drawn is skipped with the reason.

    Runs of several modes are drawn one by one (``figure-09-real.svg``): real and emulated runs do not share a figure.

    Parameters
    ----------
    material : FigureInputs
        The campaign, and the model whose predictions are drawn.
    folder : Path
        Where the files go; made where it does not exist.
    formats : sequence of str
        Some of ``svg``, ``png``, ``pdf``, and ``csv`` for the numbers in the figure.
    numbers : iterable of int, optional
        Only these figures.

    Raises
    ------
    UsageError
        An unknown format or number.
    MissingExtraError
        matplotlib is not installed.
    """
    if not hasattr(material, "campaign"):
        hint = "mlperf.studies.paper.figure_inputs.FigureInputs holds a campaign and a model."
        raise UsageError(f"got {type(material).__name__}, expected FigureInputs", place="material", hint=hint)
    kinds = chosen_kinds(numbers)
    for name in formats:
        if name not in FORMATS:
            raise UsageError(f"got format {name!r}, expected one of {', '.join(FORMATS)}")
    require("matplotlib", "report")
    drawn: list[DrawnFigure] = []
    skipped: list[SkippedFigure] = []
    for kind in tracked(kinds, "figures drawn"):
        reason, drawings = made(kind, material)
        if reason:
            skipped.append(SkippedFigure(kind.number, kind.title, reason))
        drawn += [write_drawing(kind, drawing, folder, formats, several=len(drawings) > 1) for drawing in drawings]
    return PaperFigures(material.campaign.name, tuple(drawn), tuple(skipped))


def chosen_kinds(numbers: Iterable[int] | None) -> list[FigureKind]:
    """The figures of these numbers, all by default."""
    if numbers is None:
        return list(PAPER_FIGURES)
    wanted = set(numbers)
    unknown = wanted - {kind.number for kind in PAPER_FIGURES}
    if unknown:
        first, last = PAPER_FIGURES[0].number, PAPER_FIGURES[-1].number
        raise UsageError(f"got figure {min(unknown)}, expected {first} to {last}")
    return [kind for kind in PAPER_FIGURES if kind.number in wanted]


def made(kind: FigureKind, material: FigureInputs) -> tuple[str, list[Drawing]]:
    """The drawings of a figure, or why there are none."""
    reason = kind.missing(set(material.campaign.tables))
    if reason:
        return reason, []
    try:
        with style():
            return "", kind.maker()(material)
    except (DataError, FitError) as error:
        return error.message, []


def write_drawing(kind: FigureKind, drawing: Drawing, folder: Path, formats: Sequence[str], *, several: bool) -> DrawnFigure:
    """Write one figure in every format asked for."""
    stem = f"figure-{kind.number:02d}" + (f"-{slug(drawing.mode)}" if several else "")
    caption = f"Figure {kind.number}. {drawing.caption}"
    with style():
        add_caption(drawing.figure, caption)
    paths = [folder / f"{stem}.{name}" for name in formats]
    make_folder(folder)
    for path in paths:
        if path.suffix == ".csv":
            write_csv(drawing.data, path)
        else:
            save_figure(drawing.figure, path)
    return DrawnFigure(kind.number, kind.title, drawing.mode, len(drawing.data), caption, tuple(str(path) for path in paths))


def slug(mode: str) -> str:
    """A mode as part of a file's name."""
    return re.sub(r"[^a-z0-9.]+", "-", mode.lower()).strip("-")
