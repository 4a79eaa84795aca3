"""What is told of swarms."""

from __future__ import annotations

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.report.recordings.swarms import swarms_answer, swarms_figure, swarms_sections
from mlperf.traces.swarms.swarms import Swarms
from mlperf.traces.whole_run.grouped import swarms_of


@pytest.fixture
def found() -> Swarms:
    maker = Made()
    for number in range(20):
        at = number * 100 * MS
        maker.marks(at, {"load": 40 * MS, "forward": 60 * MS})
        maker.samples(at + (number % 3) * MS, at + 20 * MS, "jpeg_decode", every_ns=MS)
        maker.samples(at + 40 * MS, at + 100 * MS, "sgemm", every_ns=MS)
        maker.samples(at, at + 100 * MS, "intel_idle", tid=2, every_ns=10 * MS)
    return swarms_of(maker.recording())


def test_the_answer_names_the_heaviest_work_and_no_idling(found: Swarms) -> None:
    answer = swarms_answer(found)
    assert answer.asked == "made: 3 functions in 3 swarms"
    assert answer.found.startswith("on processor: gemm ")
    assert "(1.20 s)" in answer.found
    assert "idle" not in answer.found


def test_nothing_but_waiting_is_told() -> None:
    maker = Made()
    maker.samples(0, 100 * MS, "intel_idle")
    assert swarms_answer(swarms_of(maker.recording())).found == "nothing but waiting"


def test_sections_hold_swarms_followers_and_notes(found: Swarms) -> None:
    sections = {each.title: each for each in swarms_sections(found) if each.title}
    assert list(sections) == ["Swarms", "Which swarm follows which in the steps", "What swarms consist of"]
    followers = sections["Which swarm follows which in the steps"].frame
    assert followers is not None
    assert followers["verdict"].ne("no order").all()


def test_the_figure_has_a_lane_for_each_swarm_as_high_as_its_activity(found: Swarms) -> None:
    axes = swarms_figure(found).axes[0]
    assert axes.get_xlabel() == "time (s)"
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "idle (processor)",
        "gemm (processor)",
        "decode (processor)",
    ]
    lane = next(patch for place, patch in enumerate(axes.patches) if place == 1)
    values, edges, _ = lane.get_data()
    np.testing.assert_allclose(edges[[0, -1]], [0.0, 2.0])
    # Lanes grow upwards from their base, the largest part of the run to the top.
    assert np.min(values) == pytest.approx(1.0)
    assert np.max(values) == pytest.approx(1.8)
