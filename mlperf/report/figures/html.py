"""One self-contained HTML page: tables and SVG figures, nothing fetched from anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import chain, count
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

FIRST_LEVEL = 2
"""Of the headings below the title of a page."""
LEAST_CONTENTS = 4
"""Headings of the first level from which on a page lists them."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A figure on the page with its heading and caption; those ``beside`` each other share a line where it is wide enough.

    A figure that was drawn before is given as its ``<svg>`` element. The ``level`` of the heading is that of a `Section`.
    """

    title: str
    figure: Figure | str
    caption: str = ""
    beside: bool = False
    level: int = 2


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
        HTML; styles and figures inside. Every heading has an id; a page of several has a list of contents with links.

    Raises
    ------
    MissingExtraError
        jinja2 or matplotlib is not installed.
    """
    jinja2 = require("jinja2", "report")
    source = files("mlperf.report").joinpath("templates/page.html.j2").read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source)
    views = part_views(parts, time_unit)
    page: str = template.render(title=title, lead=lead, footer=footer, parts=views, contents=contents(views))
    return printable_lines(page)


def write_page(path: Path, title: str, parts: Sequence[Section | Picture], *, lead: str = "", footer: str = "") -> None:
    """Render the page (see `html_page`) into a file, whole or not at all."""
    write_text_whole(path, html_page(title, parts, lead=lead, footer=footer))


def part_views(parts: Sequence[Section | Picture], time_unit: str) -> list[dict[str, Any]]:
    """What the template needs of all parts."""
    views = [part_view(part, time_unit) for part in parts]
    names = heading_ids([(view["level"], view["title"]) for view in views])
    return [
        view | {"svg": with_own_ids(view["svg"], f"p{number}-"), "id": name}
        for number, (view, name) in enumerate(zip(views, names, strict=True), 1)
    ]


def heading_ids(headings: Sequence[tuple[int, str]]) -> list[str]:
    """An id for each heading (its level and title), made of its words behind those of the headings that it stands beneath.

    They begin with ``to-``, so that none is one of a picture; empty where there is no title.
    """
    above: dict[int, str] = {}
    taken: set[str] = set()
    names = []
    for level, title in headings:
        if not title:
            names.append("")
            continue
        above = {upper: words for upper, words in above.items() if upper < level}
        # A group of parts says nothing that a part's own name does not.
        words = "-".join([*(text for upper, text in above.items() if upper > FIRST_LEVEL), words_of(title)])
        above[level] = words_of(title)
        numbered = (f"to-{words}-{number}" for number in count(2))
        name = next(name for name in chain([f"to-{words}"], numbered) if name not in taken)
        taken.add(name)
        names.append(name)
    return names


def words_of(title: str) -> str:
    """The letters and digits of a title as a part of an id, which may hold no space."""
    return "-".join(re.findall(r"[^\W_]+", title.lower())) or "part"


def contents(views: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Headings of the first level, each with those right beneath it; empty on a page of few headings."""
    entries: list[dict[str, Any]] = []
    for view in views:
        entry = {"id": view["id"], "title": view["title"], "below": []}
        if view["title"] and (view["level"] == FIRST_LEVEL or not entries):
            entries.append(entry)
        elif view["title"] and view["level"] == FIRST_LEVEL + 1:
            entries[-1]["below"].append(entry)
    return entries if len(entries) >= LEAST_CONTENTS else []


_NAMES = re.compile(r'(?<=\sid=")|(?<=href="#)|(?<=url\(#)')


def with_own_ids(svg: str, prefix: str) -> str:
    """A picture whose ids begin with ``prefix``: pictures share names of letters and marks, and a page may have each id once."""
    return _NAMES.sub(prefix, svg)


def part_view(part: Section | Picture, time_unit: str) -> dict[str, Any]:
    """What the template needs of one part."""
    empty = {
        "title": part.title,
        "level": part.level,
        "columns": (),
        "rows": (),
        "text": "",
        "svg": "",
        "caption": "",
        "beside": False,
    }
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
