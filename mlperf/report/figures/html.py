"""One self-contained HTML page: tables and SVG figures, nothing fetched from anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlperf.core.extras import require
from mlperf.core.files import write_text_whole
from mlperf.core.printable import printable_lines
from mlperf.report.figures.figures import figure_svg
from mlperf.report.text.numbers import AUTO
from mlperf.report.text.tables import frame_columns
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A figure on the page with its heading and caption; those ``beside`` each other share a line where it is wide enough.

    A figure that was drawn before is given as its ``<svg>`` element.
    """

    title: str
    figure: Figure | str
    caption: str = ""
    beside: bool = False


def html_page(title: str, parts: Sequence[Section | Picture], *, lead: str = "", footer: str = "", time_unit: str = AUTO) -> str:
    """Render one self-contained HTML page.

    Parameters
    ----------
    title : str
        Heading of the page.
    parts : sequence of Section or Picture
        In the order shown; all text is escaped.
    lead, footer : str
        A sentence under the heading; a line at the end (provenance).
    time_unit : str
        ``"auto"`` or one of ``us``, ``ms``, ``s``, ``min``, ``h``.

    Returns
    -------
    str
        HTML; styles and figures inside.

    Raises
    ------
    MissingExtraError
        jinja2 or matplotlib is not installed.
    """
    jinja2 = require("jinja2", "report")
    source = files("mlperf.report").joinpath("templates/page.html.j2").read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source)
    page: str = template.render(title=title, lead=lead, footer=footer, parts=part_views(parts, time_unit))
    return printable_lines(page)


def write_page(path: Path, title: str, parts: Sequence[Section | Picture], *, lead: str = "", footer: str = "") -> None:
    """Render the page (see `html_page`) into a file, whole or not at all."""
    write_text_whole(path, html_page(title, parts, lead=lead, footer=footer))


def part_views(parts: Sequence[Section | Picture], time_unit: str) -> list[dict[str, Any]]:
    """What the template needs of all parts."""
    views = [part_view(part, time_unit) for part in parts]
    return [view | {"svg": with_own_ids(view["svg"], f"p{number}-")} for number, view in enumerate(views, 1)]


_NAMES = re.compile(r'(?<=\sid=")|(?<=href="#)|(?<=url\(#)')


def with_own_ids(svg: str, prefix: str) -> str:
    """A picture whose ids begin with ``prefix``: pictures share names of letters and marks, and a page may have each id once."""
    return _NAMES.sub(prefix, svg)


def part_view(part: Section | Picture, time_unit: str) -> dict[str, Any]:
    """What the template needs of one part."""
    empty = {"title": part.title, "columns": (), "rows": (), "text": "", "svg": "", "caption": "", "beside": False}
    if isinstance(part, Picture):
        svg = part.figure if isinstance(part.figure, str) else figure_svg(part.figure)
        named = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(picture_name(part))}" ', 1)
        return empty | {"svg": named, "caption": part.caption, "beside": part.beside}
    if part.frame is None:
        return empty | {"text": part.text}
    columns = frame_columns(part.frame, time_unit)
    return empty | {"columns": columns, "rows": list(zip(*(column.cells for column in columns), strict=True))}


def picture_name(part: Picture) -> str:
    """What a screen reader says of a picture, whose letters are drawn: its heading, else its caption, else what its panels show."""
    if part.title or part.caption or isinstance(part.figure, str):
        return part.title or part.caption or "figure"
    titles = [axes.get_title(loc) for axes in part.figure.axes for loc in ("left", "center")]
    labels = [text for axes in part.figure.axes for text in (axes.get_ylabel(), axes.get_xlabel())]
    shown = [text for text in titles if text] or [text for text in labels if text]
    return "; ".join(dict.fromkeys(shown)) or "figure"
