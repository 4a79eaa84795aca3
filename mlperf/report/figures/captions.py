"""The caption under a figure, wrapped to its width."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from mlperf.report.figures.figures import GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT_SIZE = 7.5
# DejaVu Sans at this size; a little less than what fits, since words differ.
LETTERS_PER_INCH = 17.0


def counted(number: int, noun: str) -> str:
    """``"1 run"``, ``"3 runs"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def add_caption(figure: Figure, text: str) -> None:
    """Write ``text`` under everything else, left-aligned; the layout makes room for it."""
    lines = fill(text, int(LETTERS_PER_INCH * figure.get_figwidth()))
    figure.supxlabel(lines, x=0.012, ha="left", fontsize=FONT_SIZE, color=GREY, linespacing=1.35)
