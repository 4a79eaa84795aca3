"""Tables in narrow places: no word is broken, secondary columns leave in their order and are named, rows become blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from mlperf.report.text.layout import GAP, fitting_widths, lay_out, places_of, wrapped
from mlperf.report.text.tables import Column, frame_columns
from mlperf.report.text.views import Section, section_text

pytestmark = pytest.mark.slow

WORDS = ("convolution", "sqrt(access_bytes * subbatch_size)", "a b c d e f g h i j k l m n o p", "x" * 30, "yes", "-")


def shown(frame: pd.DataFrame, width: int, *secondary: str | tuple[str, ...], everything: bool = False) -> str:
    section = Section("", frame, secondary=secondary)
    return section_text(section, Console(width=width, no_color=True), everything=everything)


def any_frame(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n_columns, n_rows = rng.integers(1, 12), rng.integers(1, 5)
    columns = {}
    for number in range(n_columns):
        name = " ".join(rng.choice(["mean", "minibatch", "size", "low", "epoch"], rng.integers(1, 5))) + f" {number}"
        numbers = rng.random(n_rows) < 0.5
        columns[name] = 10.0 ** rng.uniform(-6, 8, n_rows) if numbers.all() else list(rng.choice(WORDS, n_rows))
    return pd.DataFrame(columns)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 160])
def test_every_word_of_a_narrow_table_is_one_of_the_wide_table(width: int) -> None:
    for seed in range(60):
        frame = any_frame(seed)
        wide = set(shown(frame, 10_000).split())
        names = [str(name) for name in frame.columns]
        narrow = shown(frame, width, *names[1:])
        table, _, note = narrow.partition("not shown: ")
        assert {word for word in table.split() if set(word) != {"─"}} <= wide
        assert set(note.replace(",", " ").replace(";", " ").split()) <= wide | {"-v", "or", "--json", "shows", "all"}


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_a_table_stays_inside_the_width_and_blocks_only_leave_it_for_a_single_word(width: int) -> None:
    for seed in range(60):
        frame = any_frame(seed)
        for line in shown(frame, width, everything=True).splitlines():
            assert len(line) <= width or max(map(len, line.split())) + len(max(map(str, frame), key=len)) + GAP > width


def test_secondary_columns_leave_in_their_order_and_are_named() -> None:
    frame = pd.DataFrame([["vgg16", 1.0, 2.0, 3.0, 4.0]], columns=["cnn", "aaaaaaaaaa", "low", "high", "bbbbbbbbbb"])
    assert "not shown" not in shown(frame, 80, "aaaaaaaaaa")
    narrow = shown(frame, 34, ("low", "high"), "aaaaaaaaaa", "no such column")
    assert narrow.splitlines()[0].split() == ["cnn", "aaaaaaaaaa", "bbbbbbbbbb"]
    assert "not shown: low, high;" in narrow
    narrower = shown(frame, 20, ("low", "high"), "aaaaaaaaaa")
    assert narrower.splitlines()[0].split() == ["cnn", "bbbbbbbbbb"]


def test_headings_stand_on_the_line_numbers_to_the_right_and_sentences_go_on_below() -> None:
    words = ["one sentence of more words than fit", "数 一"]
    table = pd.DataFrame({"what": words, "the time of one step_s": [0.25, 0.5], "a": ["x", "y"]})
    assert shown(table, 40, everything=True).splitlines() == [
        "                            the time",
        "                              of one",
        "what                       step (ms)   a",
        "────────────────────────────────────────",
        "one sentence of more           250.0   x",
        "words than fit",
        "数 一                          500.0   y",
    ]
    console = Console(width=40, force_terminal=True, color_system="standard")
    headings, rest = section_text(Section("", table), console).split("─", 1)
    assert headings.startswith("\x1b[1m")
    assert "\x1b" not in rest


def test_rows_become_blocks_where_nothing_may_leave() -> None:
    frame = pd.DataFrame({"part": ["add", "convolution"], "time_s": [0.25, 0.5], "n_rows": [1_281_167, 2]})
    assert shown(frame, 18, everything=True).splitlines() == [
        "part        add",
        "time (ms)   250.0",
        "n rows      1,281,167",
        "",
        "part        convolution",
        "time (ms)   500.0",
        "n rows      2",
    ]


def test_cells_are_no_markup_and_move_no_cursor() -> None:
    text = shown(pd.DataFrame({"name": ["[/red]", "\x1b[2Jgone", "two\nlines"]}), 80)
    assert "[/red]" in text
    assert "\x1b" not in text
    assert r"\x1b[2Jgone" in text
    assert r"two\nlines" in text


def test_widths_are_those_of_headings_cells_and_gaps() -> None:
    columns = (Column("a", ("12345",), is_number=True), Column("long heading", ("1",), is_number=True))
    assert fitting_widths(columns, 5 + 12 + 3, 3) == (5, 12)
    assert fitting_widths(columns, 5 + 7 + 3, 3) == (5, 7)
    assert fitting_widths(columns, 5 + 7 + 2, 3) is None


def test_what_leaves_is_found_by_name() -> None:
    assert places_of(["c", ("a", "x")], ["a", "b", "c"]) == ((2,), (0,))
    layout = lay_out(frame_columns(pd.DataFrame({"a": [1], "b": [2]})), ((0,),), 1)
    assert layout.hidden == ("a",)
    assert layout.widths == (1,)


def test_text_breaks_between_words_only_and_keeps_its_indentation() -> None:
    assert wrapped("  one two three\nfour", 9) == "  one two\n  three\nfour"
    assert wrapped("x" * 20 + " y", 9) == "x" * 20 + "\ny"
