"""The page as a browser's parser sees it: well-formed, alone, small, and nobody's text becomes markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from page_recordings import EVIL, EVIL_END, N_STEPS, everything

from mlperf.report.recordings.page import page as page_module
from mlperf.report.recordings.page.gather import gather_parts
from mlperf.report.recordings.page.page import SCRIPTS, recording_page, write_recording_page
from mlperf.report.recordings.page.parts import PageParts
from mlperf.report.recordings.page.tables import page_tables
from mlperf.traces.events.counters import counter_table
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.whole_run.recording import Recording

VOID = {"meta", "input", "br", "link", "img", "hr"}
OPTIONAL_END = {"p", "li", "option"}
FETCHING = {"src", "href", "action", "data", "poster", "srcset", "background"}


class Parsed(HTMLParser):
    """What stands in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.scripts: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.handlers: list[str] = []
        self.labelled: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            if name in FETCHING and not (value or "").startswith("#"):
                self.fetched.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.handlers.append(name)
        if tag == "script":
            self.scripts.append((dict(attributes).get("type") or "", ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + text)
        elif not self.open or self.open[-1] != "style":
            self.texts.append(text)


@pytest.fixture(scope="module")
def parts() -> PageParts:
    return gather_parts(everything())


@pytest.fixture(scope="module")
def text(parts: PageParts) -> str:
    return recording_page(parts, page_tables(parts))


@pytest.fixture(scope="module")
def parsed(text: str) -> Parsed:
    return Parsed(text)


def test_every_element_is_closed_and_every_name_is_one_elements(parsed: Parsed) -> None:
    assert not parsed.wrong
    assert not parsed.open
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {"hints", "breakdown", "timeline", "flames", "links", "swarms", "sources"} <= set(parsed.ids)


def test_nothing_is_fetched_from_anywhere(parsed: Parsed, text: str) -> None:
    assert not parsed.fetched
    assert "default-src 'none'" in text
    for script in SCRIPTS:
        source = files("mlperf.report.recordings.page").joinpath(script).read_text(encoding="utf-8")
        assert not [
            word for word in ("http:", "https:", "fetch(", "XMLHttpRequest", "import(", "innerHTML", "eval(") if word in source
        ]
        assert "</script" not in source


def test_text_of_the_recording_becomes_no_markup(parsed: Parsed, text: str) -> None:
    assert not parsed.handlers
    assert [kind for kind, _ in parsed.scripts] == ["application/json", ""]
    assert EVIL not in text
    assert EVIL_END not in text
    shown = "".join(parsed.texts)
    assert EVIL in shown
    assert f"A note {EVIL}" not in shown
    assert f"a note {EVIL}" in shown


def test_the_data_are_read_back_with_the_names_as_they_were(parsed: Parsed) -> None:
    document = json.loads(parsed.scripts[0][1])
    labels = [each[0] for each in document["timeline"]["labels"]]
    assert {EVIL, EVIL_END, "gemm"} <= set(labels)
    assert EVIL_END in document["flames"]["frames"]
    assert document["timeline"]["steps"][0]["n"] == N_STEPS
    assert {each["name"] for each in document["series"]} == {"cpu.user", "cpu.system", "net.received"}


def test_steps_matrix_swarms_and_reasons_are_told(parsed: Parsed) -> None:
    shown = " ".join(parsed.texts)
    assert f"{N_STEPS} steps of 60.0 ms by marks of the program" in shown
    for word in ("T_gpu_kernel", "T_cpu", "Rows send, columns receive", "rank 0", "10.0.0.2", "absent", "Largest activity"):
        assert word in shown


def test_every_heading_is_there_once(text: str) -> None:
    headings = re.findall(r"<h[12]>([^<]+)</h|<h3>([^<:]+)</h", text)
    assert ("Swarms", "") in headings
    told = ["".join(heading) for heading in headings]
    assert len(told) == len(set(told))


def test_elements_that_the_scripts_ask_for_are_there(parsed: Parsed) -> None:
    wanted = set()
    for script in SCRIPTS:
        source = files("mlperf.report.recordings.page").joinpath(script).read_text(encoding="utf-8")
        wanted |= {part.partition('"')[0] for part in source.split('getElementById("')[1:]}
    assert wanted <= set(parsed.ids)


def test_a_recording_of_nothing_makes_a_page_that_says_why() -> None:
    empty = Recording(Path("nothing"), {}, event_table(0), counter_table([]), 0, 1)
    found = gather_parts(empty)
    parsed = Parsed(recording_page(found, page_tables(found)))
    shown = " ".join(parsed.texts)
    assert not parsed.wrong
    assert "No steps: no steps found" in shown
    assert "No communication matrix: no messages between ranks" in shown


def test_a_page_that_would_be_too_large_gets_less_detail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    n_events = 60_000
    events = event_table(
        n_events,
        strings=("a", "b"),
        start_ns=np.arange(n_events) * 100,
        duration_ns=rng.integers(1, 90, n_events),
        kind=np.full(n_events, Kind.SYSCALL),
        name=rng.integers(0, 2, n_events),
    )
    found = PageParts(Recording(Path("many"), {}, events, counter_table([]), 0, 100 * n_events))
    tables = page_tables(found)
    whole = write_recording_page(tmp_path / "whole.html", found, tables)
    monkeypatch.setattr(page_module, "MOST_BYTES", whole // 2)
    assert write_recording_page(tmp_path / "less.html", found, tables) <= whole // 2
    assert (tmp_path / "less.html").stat().st_size <= whole // 2
    document = json.loads(Parsed((tmp_path / "less.html").read_text(encoding="utf-8")).scripts[0][1])
    assert sum(line["n_events"] for line in document["timeline"]["lines"]) == n_events


def test_parts_left_out_are_named(parts: PageParts) -> None:
    without = replace(parts, advice=None, missing={"advice": f"because {EVIL}"})
    shown = " ".join(Parsed(recording_page(without, page_tables(without))).texts)
    assert f"No hints: because {EVIL}." in shown
