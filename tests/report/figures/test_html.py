"""Pages: what pictures on them are called."""

from __future__ import annotations

import re
from collections import Counter

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from mlperf.report.figures.figures import single_axes
from mlperf.report.figures.html import Picture, heading_ids, html_page, picture_name
from mlperf.report.text.views import Section

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


def test_headings_stand_in_their_order_and_the_list_of_contents_finds_them() -> None:
    part = [Section("conv (kernel)", text="a", level=3), Section("Warnings", text="b", level=4)]
    parts = [Section("Parts"), *part, Section("fc (kernel)", text="c", level=3), part[1], Section("Steps"), Section("Runs")]
    page = html_page("Page", [*parts, Section("Words"), Section("Words")])
    assert re.findall(r"<h([1-6])", page) == list("1234342222")
    listed = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', page)
    assert [title for _, title in listed] == ["Parts", "conv (kernel)", "fc (kernel)", "Steps", "Runs", "Words", "Words"]
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {name for name, _ in listed} <= set(ids)
    assert {"to-parts", "to-conv-kernel-warnings", "to-fc-kernel-warnings", "to-words", "to-words-2"} <= set(ids)
    assert page.count("<details") == 1


def test_a_page_of_few_headings_has_no_list_of_contents() -> None:
    assert "<nav" not in html_page("Page", [Section("Parts"), Section("conv", level=3), Section("Words")])


def test_ids_hold_no_space_and_are_there_once() -> None:
    assert heading_ids([(2, "a 2"), (2, "a"), (2, "a"), (2, ""), (2, "+/-")]) == ["to-a-2", "to-a", "to-a-3", "", "to-part"]


def test_pages_follow_a_dark_screen_with_text_that_can_be_read() -> None:
    page = html_page("Page", [Picture("Waits", DRAWN)])
    assert "figure svg { max-width: 100%; height: auto; background: #fff;" in page
    themes = [dict(re.findall(r"--(\w+): (#\w+)", line)) for line in page.splitlines() if "--back: #" in line]
    assert len(themes) == 2
    for colour in themes:
        for ground in ("back", "band"):
            assert min(contrast(colour[ground], colour[name]) for name in ("front", "soft", "accent")) > 4.5


def contrast(one: str, other: str) -> float:
    """Of two colours by the Web Content Accessibility Guidelines 2.1, which ask for 4.5."""
    dark, light = sorted(luminance(colour) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
