"""Pages: what pictures on them are called."""

from __future__ import annotations

import re
from collections import Counter

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from mlperf.report.figures.figures import single_axes
from mlperf.report.figures.html import Picture, html_page, picture_name

DRAWN = '<svg width="1pt"></svg>'


def test_pictures_have_a_name_for_those_who_cannot_see_them() -> None:
    page = html_page("Page", [Picture('Waits of "a" & <b>', DRAWN)])
    assert '<svg role="img" aria-label="Waits of &quot;a&quot; &amp; &lt;b&gt;" width="1pt">' in page


def test_a_picture_without_heading_is_named_by_its_caption_then_by_its_panels() -> None:
    assert picture_name(Picture("", DRAWN, "Errors of all parts.")) == "Errors of all parts."
    assert picture_name(Picture("", DRAWN)) == "figure"
    with single_axes(2.0, 2.0) as (figure, axes):
        axes.set(xlabel="nodes", ylabel="time (s)")
        assert picture_name(Picture("", figure)) == "time (s); nodes"
        axes.set_title("Left out", loc="left")
        assert picture_name(Picture("", figure)) == "Left out"


def test_every_id_of_a_page_is_there_once_and_every_reference_finds_its_own() -> None:
    """Two figures share the names of the letters in them."""
    parts = []
    for _ in range(2):
        with single_axes(2.0, 2.0) as (figure, axes):
            axes.set(xlabel="nodes", ylabel="time (s)")
            axes.plot([1, 2], [1, 2])
            parts.append(Picture("", figure))
    page = html_page("Page", parts)
    ids = re.findall(r' id="([^"]+)"', page)
    assert Counter(ids).most_common(1)[0][1] == 1
    for svg in page.split("<svg")[1:]:
        own = set(re.findall(r' id="([^"]+)"', svg))
        referred = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
        assert referred
        assert referred <= own
