"""The paper's figure 8 as a fact and as a hint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from figure_8 import FIGURE_8, TOPOLOGY
from made_rings import SQUARE, ring_recording

from mlperf.planning.advice.advise import advise
from mlperf.planning.advice.facts.rings import ring_facts, ring_facts_of
from mlperf.planning.advice.findings import INCONCLUSIVE, NAMED, RING
from mlperf.planning.advice.rules import ring_rule
from mlperf.planning.advice.thresholds import Thresholds
from mlperf.traces.links.matrix_file import read_matrix
from mlperf.traces.links.topology import Links, read_links
from mlperf.traces.whole_run.steps import find_steps

WRONG, RIGHT = (1, 2, 3, 4), (1, 3, 2, 4)


@pytest.fixture
def square(tmp_path: Path) -> Links:
    (tmp_path / "links.csv").write_text(SQUARE)
    return read_links(tmp_path / "links.csv")


def test_the_detours_are_named(tmp_path: Path) -> None:
    (tmp_path / "traffic.txt").write_text(FIGURE_8)
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    matrix = read_matrix(tmp_path / "traffic.txt")
    alone = ring_facts_of(matrix)
    assert alone is not None
    assert alone.rings.detours == ("GPU4 -> HOST -> GPU5", "GPU8 -> HOST -> GPU1")
    unsure = ring_rule(alone, Thresholds())
    assert unsure is not None
    assert (unsure.cause, unsure.verdict) == (RING, INCONCLUSIVE)
    found = ring_rule(ring_facts_of(matrix, read_links(tmp_path / "topology.txt")), Thresholds())
    assert found is not None
    assert found.verdict == NAMED
    # 18.473 GB pass the slowest way in 1.74 s, an NVLink in 1.00 s.
    assert found.evidence["allreduce_saved_share"] == pytest.approx(1 - 1.00 / 1.74, abs=0.005)


def test_no_ring_no_fact(tmp_path: Path) -> None:
    (tmp_path / "matrix.txt").write_text("a b\na 0 0\nb 0 0\n")
    assert ring_facts_of(read_matrix(tmp_path / "matrix.txt")) is None


def test_what_a_better_ring_saves_is_what_the_schedule_says(square: Links) -> None:
    wrong, right = ring_recording(WRONG), ring_recording(RIGHT)
    lengths = [float(find_steps(each).settled["step_s"].mean()) for each in (wrong, right)]
    assert lengths == pytest.approx([0.160, 0.100])
    first = advise(wrong, links=square).findings[0]
    assert (first.cause, first.verdict) == (RING, NAMED)
    assert first.evidence["best"] == "A, C, B, D"
    assert first.evidence["order"] == "0,2,1,3"
    assert first.gain is not None
    assert first.gain.saved_s == pytest.approx(lengths[0] - lengths[1])
    assert first.gain.lower_s < first.gain.saved_s < first.gain.upper_s
    assert first.gain.naive_s == pytest.approx(0.120)


def test_the_best_ring_gets_no_hint(square: Links) -> None:
    for order in (RIGHT, RIGHT[::-1]):
        assert advise(ring_recording(order), links=square).findings == ()


def test_without_links_it_says_what_is_missing() -> None:
    found = advise(ring_recording(WRONG)).findings
    assert [(each.cause, each.verdict) for each in found] == [(RING, INCONCLUSIVE)]
    assert "--links" in found[0].why
    assert found[0].gain is not None
    assert found[0].gain.lower_s == 0
    assert advise(ring_recording(RIGHT)).findings == ()


def test_without_a_mark_the_messages_tell_the_exchange(square: Links) -> None:
    recording = ring_recording(WRONG, is_marked=False)
    facts = ring_facts(recording, find_steps(recording), square)
    assert facts is not None
    assert facts.comm_s == pytest.approx(np.full(11, 0.120))
    assert facts.sent_s == pytest.approx(np.full(11, 0.120))


def test_few_steps_and_hidden_exchanges_are_inconclusive(square: Links) -> None:
    few = advise(ring_recording(WRONG, 4), links=square).findings[0]
    assert (few.verdict, few.why) == (INCONCLUSIVE, "3 steps are too few")
    recording = ring_recording(WRONG)
    steps = find_steps(recording)
    hidden = replace(steps, steps=steps.steps.assign(allreduce_s=0.0))
    found = advise(recording, hidden, links=square).findings[0]
    assert (found.cause, found.verdict) == (RING, INCONCLUSIVE)
    assert "mark it" in found.why


def test_links_of_the_best_ring_achieve_what_those_in_use_do(square: Links) -> None:
    recording = ring_recording(WRONG)
    facts = ring_facts(recording, find_steps(recording), square)
    assert facts is not None
    assert facts.achieved == pytest.approx(np.ones(2))
    late = ring_rule(replace(facts, achieved=np.array([0.8, 1.0])), Thresholds())
    assert late is not None
    assert late.gain is not None
    # 120 ms of exchange; half of it over links that are twice as fast, of which nine tenths are achieved.
    assert late.gain.saved_s == pytest.approx(0.120 - 0.060 / 0.9)
    assert late.gain.lower_s < 0.120 - 0.060 / 0.8
    assert late.gain.upper_s >= 0.060
    alone = ring_rule(replace(facts, achieved=np.array([0.8])), Thresholds())
    assert alone is not None
    assert alone.gain is not None
    assert alone.gain.saved_s == pytest.approx(0.060)
