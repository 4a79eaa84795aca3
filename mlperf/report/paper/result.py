"""Which figures were drawn, why others were not, and how both are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.printable import printable
from mlperf.core.shown import Shown
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURED = "measured"


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """One figure, not yet written.

    Attributes
    ----------
    mode : str
        ``measured``, or what was real and what was emulated in the runs behind it.
    caption : str
        What is measured, emulated and predicted; stands under the figure.
    data : DataFrame
        What is drawn, one row a point, bar or cell; times in seconds.
    figure : matplotlib Figure
        The picture.
    """

    mode: str
    caption: str
    data: pd.DataFrame
    figure: Figure


@dataclass(frozen=True, slots=True)
class DrawnFigure(Shown):
    """A figure that was written.

    Attributes
    ----------
    number : int
        Its number in the paper.
    title : str
        What it shows.
    mode : str
        ``measured``, or what was real and what was emulated in the runs behind it.
    n_rows : int
        Points, bars or cells.
    caption : str
        As under the figure.
    files : tuple of str
        What was written.
    """

    number: int
    title: str
    mode: str
    n_rows: int
    caption: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkippedFigure(Shown):
    """A figure that was not drawn.

    Attributes
    ----------
    number : int
        Its number in the paper.
    title : str
        What it would show.
    reason : str
        Why not.
    """

    number: int
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class PaperFigures(Shown):
    """Figures 4 to 13 of the SPRINT paper for one campaign.

    Attributes
    ----------
    campaign : str
        Its name.
    drawn : tuple of DrawnFigure
        In the paper's order; several where the campaign holds runs of several modes.
    skipped : tuple of SkippedFigure
        The others.
    """

    campaign: str
    drawn: tuple[DrawnFigure, ...]
    skipped: tuple[SkippedFigure, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row a figure: its number, what it shows, its mode, and the file or the reason."""
        drawn = [(item.number, item.title, item.mode, printable(", ".join(item.files)), "") for item in self.drawn]
        skipped = [(item.number, item.title, "", "", item.reason) for item in self.skipped]
        return pd.DataFrame(sorted(drawn + skipped), columns=["figure", "title", "mode", "files", "skipped_because"])


def figure_sections(result: PaperFigures) -> tuple[Section, ...]:
    """A table of the figures drawn, one of those skipped, then the captions."""
    sections = []
    if result.drawn:
        rows = [(item.number, item.title, item.mode, item.n_rows, printable(", ".join(item.files))) for item in result.drawn]
        columns = ["figure", "title", "mode", "n_rows", "files"]
        sections.append(Section(f"Figures of campaign {result.campaign}", pd.DataFrame(rows, columns=columns)))
    if result.skipped:
        left_out = [(item.number, item.title, item.reason) for item in result.skipped]
        sections.append(Section("Skipped", pd.DataFrame(left_out, columns=["figure", "title", "reason"])))
    if result.drawn:
        sections.append(Section("Captions", text="\n".join(item.caption for item in result.drawn)))
    return tuple(sections)
