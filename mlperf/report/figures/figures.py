"""The look of every figure and its captions, and how it becomes a file or SVG text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray
from mlperf.core.extras import require
from mlperf.core.files import write_bytes_whole
from mlperf.core.places import check_figure_type
from mlperf.core.printable import printable_lines
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008): eight colours that stay apart for every common kind of colour vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
GREY = "#666666"

STYLE: Mapping[str, Any] = MappingProxyType(
    {
        "font.family": "DejaVu Sans",
        "font.size": 9.0,
        "axes.titlesize": 10.0,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#DDDDDD",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "lines.markersize": 4.5,
        "figure.dpi": 100.0,
        "savefig.dpi": 160.0,
        "hatch.linewidth": 0.6,
        "svg.fonttype": "path",
        "text.parse_math": False,
        "svg.hashsalt": "mlperf",
    }
)


def style() -> AbstractContextManager[None]:
    """Context in which matplotlib draws our way."""
    context: AbstractContextManager[None] = require("matplotlib", "report").rc_context(dict(STYLE))
    return context


def new_figure(width_in: float = 6.4, height_in: float = 4.2) -> Figure:
    """An empty figure that no window belongs to; width and height in inches."""
    figure: Figure = require("matplotlib.figure", "report").Figure(figsize=(width_in, height_in), layout="constrained")
    return figure


@contextmanager
def single_axes(width_in: float = 6.4, height_in: float = 4.2) -> Iterator[tuple[Figure, Axes]]:
    """A new figure with one pair of axes, drawn our way; width and height in inches."""
    with style():
        figure = new_figure(width_in, height_in)
        yield figure, figure.add_subplot()


def figure_bytes(figure: Figure, file_type: str) -> bytes:
    """The figure as a file's content; the same figure gives the same bytes."""
    stream = BytesIO()
    name_logarithms(figure)
    take_literally(figure)
    with style(), warnings.catch_warnings():
        # A sign that no font here has is drawn as a box; older matplotlib says of a whole script that it does not know it.
        warnings.filterwarnings("ignore", r"Glyph \d+ |Matplotlib currently does not support ")
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_type)
        figure.savefig(stream, format=file_type, metadata=metadata)
    if file_type != "svg":
        return stream.getvalue()
    # Indentation is a tenth of an SVG with many numbers; control characters are no XML.
    return b"\n".join(line.lstrip(b" ") for line in printable_lines(stream.getvalue().decode("utf-8")).encode("utf-8").split(b"\n"))


MOST_DECADES, MARKS_A_DECADE, MARKS_AN_INCH = 3.0, 3, 2.0
"""Logarithmic axes of more decades than these, or than have room for their marks, are labelled at powers of ten alone."""
PLAIN_FROM, PLAIN_TO = 1e-4, 1e6
LEAST_MARKS = 3


def name_logarithms(figure: Figure) -> None:
    """Label logarithmic axes of few decades at 1, 2 and 5 times powers of ten, or at round values, in plain numbers.

    Labels that a figure has set stay. By itself matplotlib writes ``6e-01`` there, labels that lie upon each other, or one alone.
    """
    ticker = require("matplotlib.ticker", "report")
    for axes in figure.axes:
        width, height = figure.get_size_inches() * axes.get_position().size
        for axis, inches in ((axes.xaxis, width), (axes.yaxis, height)):
            if axis.get_scale() != "log" or not isinstance(axis.get_major_locator(), ticker.LogLocator):
                continue
            low, high = sorted(map(float, axis.get_view_interval()))
            marks = log_marks(low, high, float(inches))
            if marks:
                axis.set_ticks(marks, labels=[f"{mark:,.6g}" for mark in marks])
                axis.set_minor_locator(ticker.NullLocator())


def log_marks(low: float, high: float, inches: float) -> list[float]:
    """Where to label a logarithmic axis from ``low`` to ``high`` in plain numbers; empty where powers of ten do better."""
    decades = float(np.log10(high / low)) if 0.0 < low < high else np.inf
    if low < PLAIN_FROM or high > PLAIN_TO or decades > min(MOST_DECADES, MARKS_AN_INCH * inches / MARKS_A_DECADE):
        return []
    marks = round_values(np.array([low, high]))
    if len(marks) >= LEAST_MARKS:
        return marks
    every = require("matplotlib.ticker", "report").MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [float(f"{mark:.6g}") for mark in every if low <= mark <= high]


def round_values(values: FloatArray) -> list[float]:
    """1, 2 and 5 times powers of ten in the range of positive values; its ends where there are not two of these."""
    if not values.size:
        return []
    low, high = float(values.min()), float(values.max())
    tens = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    found = [head * 10.0**ten for ten in tens for head in (1.0, 2.0, 5.0) if low <= head * 10.0**ten <= high]
    return found if len(found) > 1 else sorted({low, high})


def take_literally(figure: Figure) -> None:
    """Show labels as they are: a name that holds dollar signs is no formula, and control characters are seen."""
    for text in figure.findobj(require("matplotlib.text", "report").Text):
        text.set_parse_math(False)
        shown = printable_lines(text.get_text())
        if shown != text.get_text():
            text.set_text(shown)
        if not _own_signs().issuperset(map(ord, shown)):
            text.set_fontfamily([*text.get_fontfamily(), *_other_fonts()])
    # Labels of ticks are made anew whenever the figure is drawn.
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        for made in (axis.get_major_formatter(), axis.get_minor_formatter()):
            setattr(made, "format_ticks", partial(_format_ticks, made.format_ticks))  # noqa: B010 - a method of one object


def _format_ticks(label: Callable[[Any], list[str]], places: Any) -> list[str]:
    return [printable_lines(_POWER.sub(_in_letters, text)) for text in label(places)]


@cache
def _own_signs() -> frozenset[int]:
    """Signs of our font, by number."""
    fonts = require("matplotlib.font_manager", "report")
    return frozenset((*fonts.get_font(fonts.findfont(STYLE["font.family"])).get_charmap(), ord("\n")))


@cache
def _other_fonts() -> tuple[str, ...]:
    """Fonts of this machine that may have what ours lacks: Chinese, Japanese, Korean, Indian and other letters."""
    names = {font.name for font in require("matplotlib.font_manager", "report").fontManager.ttflist}
    return tuple(sorted((name for name in names if _WORLD.search(name)), key=lambda name: ("CJK" not in name, name)))


_WORLD = re.compile(
    r"CJK|^Noto Sans|Source Han Sans|WenQuanYi|YaHei|SimHei|PingFang|Hiragino|Gothic|IPA|Nanum|Arial Unicode|Unifont"
)
_POWER = re.compile(r"^\$\\mathdefault\{(?P<shown>.*)\}\$$")
_SUPERSCRIPTS = str.maketrans("0123456789-\N{MINUS SIGN}", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")


def _in_letters(formula: re.Match[str]) -> str:
    """The label of a logarithmic axis without a formula: ``10²``."""
    plain = formula["shown"].replace(r"\times", "×")
    return re.sub(r"\^\{(.*?)\}", lambda power: power[1].translate(_SUPERSCRIPTS), plain)


def in_short(name: str, most: int = 32) -> str:
    """A name of so many letters at most: of a longer one the beginning and the end, since names of a kind differ at either."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - half].rstrip()}…{name[-half:].lstrip()}"


def figure_svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element for an HTML page."""
    return svg_element(figure_bytes(figure, "svg"))


def svg_element(file: bytes) -> str:
    """The ``<svg>`` element of an SVG file."""
    text = file.decode("utf-8")
    return text[text.index("<svg") :]


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure, whole or not at all, in the form its name's ending says.

    Raises
    ------
    UsageError
        The ending is none of ``svg``, ``png``, ``pdf``.
    """
    write_bytes_whole(path, figure_bytes(figure, check_figure_type(path)))


LEAST_APART = 0.045
"""Of an axis as wide as a figure, between two of its labels."""


def apart(values: FloatArray, places: FloatArray, least: float = LEAST_APART) -> list[float]:
    """Values whose labels do not touch on an axis: the largest, and of the others, from above, those with room.

    Parameters
    ----------
    values, places : array, shape (n_values,)
        Ascending; where they stand: the values themselves, or their logarithms.
    least : float
        Share of the axis between two labels.
    """
    kept: list[float] = []
    last = np.inf
    for value, place in zip(values[::-1].tolist(), places[::-1].tolist(), strict=True):
        if last - place >= least * (places[-1] - places[0]):
            kept.append(value)
            last = place
    return kept[::-1]


def legend_beside(axes: Axes) -> None:
    """The legend to the right of the axes: over bars it could not be read."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.4)


def time_unit(*times_s: ArrayLike) -> tuple[str, float]:
    """The unit that reads best for some times in seconds, and its size in seconds: a figure's axis has one, as a table's column."""
    unit = best_unit(np.concatenate([np.ravel(np.asarray(each, float)) for each in times_s]).tolist(), TIME_UNITS_S, "s")
    return unit, TIME_UNITS_S[unit]


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
