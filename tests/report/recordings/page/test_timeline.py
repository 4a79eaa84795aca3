"""The timeline of a page: what its packed numbers say is what happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from page_recordings import EVIL, N_STEPS, STEP_NS, everything

from mlperf.report.recordings.page.packing import unpacked
from mlperf.report.recordings.page.parts import PageParts
from mlperf.report.recordings.page.timeline import MOST_LABELS, timeline_document, typical_step
from mlperf.traces.events.counters import counter_table
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.timeline.flames import Groups
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import find_steps


@pytest.fixture(scope="module")
def parts() -> PageParts:
    recording = everything()
    swarms = Groups(("one",), np.where(recording.events.kind == Kind.SAMPLE, 0, -1))
    return PageParts(recording, find_steps(recording), swarms=swarms)


def counted(level: dict[str, Any]) -> int:
    return int(unpacked(level["count"], "u4").sum()) if "count" in level else level["n"]


def test_every_level_of_every_line_counts_all_of_its_events(parts: PageParts) -> None:
    document = timeline_document(parts, 300)
    assert sum(line["n_events"] for line in document["lines"]) == len(parts.recording.events) == document["n_events"]
    for line in document["lines"]:
        whole = [level for level in line["levels"] if level["from_ns"] == document["begin_ns"]]
        assert whole
        assert {counted(level) for level in whole} == {line["n_events"]}


def test_times_labels_and_bytes_are_those_of_the_events(parts: PageParts) -> None:
    document = timeline_document(parts)
    line = next(each for each in document["lines"] if each["group"] == "system calls" and each["rank"] == 0)
    (level,) = line["levels"]
    start = unpacked(level["start"], "u4").astype(np.int64) * document["tick_ns"] + document["begin_ns"]
    np.testing.assert_allclose(start, np.arange(N_STEPS) * STEP_NS + 2_000_000, atol=document["tick_ns"])
    assert {document["labels"][number][0] for number in unpacked(level["label"], "u2").tolist()} == {"read"}
    assert unpacked(level["size"], "f4").tolist() == [4096.0] * N_STEPS


def test_names_swarms_and_packets_are_told(parts: PageParts) -> None:
    document = timeline_document(parts)
    labels = [tuple(each) for each in document["labels"]]
    assert (EVIL, "a.so", 0) in labels
    assert ("10.0.0.1:9 to 10.0.0.2:80", "", -1) in labels
    assert document["swarms"] == ["one"]
    assert document["processes"] == {"10": "python train.py"}


def test_steps_and_the_typical_one(parts: PageParts) -> None:
    document = timeline_document(parts)
    assert [each["n"] for each in document["steps"]] == [N_STEPS, N_STEPS]
    assert unpacked(document["steps"][0]["number"], "i4").tolist() == list(range(N_STEPS))
    begin, end = typical_step(parts) or (0, 0)
    assert end - begin == STEP_NS
    assert typical_step(PageParts(parts.recording)) is None


def test_names_that_are_too_many_are_one_and_said_so() -> None:
    n_names = MOST_LABELS + 50
    events = event_table(
        n_names,
        strings=[f"f{number}" for number in range(n_names)],
        start_ns=np.arange(n_names) * 10,
        duration_ns=np.where(np.arange(n_names) < 60, 1, 5),
        kind=np.full(n_names, Kind.SYSCALL),
        name=np.arange(n_names),
    )
    document = timeline_document(PageParts(Recording(everything().folder, {}, events, counter_table([]), 0, 10 * n_names)))
    assert len(document["labels"]) == MOST_LABELS
    assert document["labels"][-1][0] == "(other names)"
    assert document["notes"] == ["51 names with the least time are shown as one"]


def test_an_empty_recording_has_an_empty_timeline() -> None:
    document = timeline_document(PageParts(Recording(everything().folder, {}, event_table(0), counter_table([]), 0, 10)))
    assert (document["lines"], document["labels"], document["steps"]) == ([], [], [])
