"""What is told of training ranks, steps, differences and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiles import complete, step, training_job, write

from mlperf.report.traces.ranks import (
    difference_answer,
    difference_sections,
    ranks_answer,
    ranks_figure,
    ranks_sections,
    steps_answer,
    steps_figure,
    steps_sections,
)
from mlperf.traces.ranks.profiled.analysis import analyse_ranks
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.decomposition import decompose
from mlperf.traces.timeline.difference import difference
from mlperf.traces.timeline.steps import steps_of_ranks

HOSTS = [[40.0, 90.0, 42.0]] * 5 + [[40.0, 95.0, 42.0]]


def test_the_answer_names_the_rank_its_lateness_and_what_its_removal_brings(tmp_path: Path) -> None:
    found = analyse_ranks(read_chrome(training_job(tmp_path / "job", HOSTS)[0]))
    text = ranks_answer(found).text()
    assert "3 ranks, 6 steps of" in text
    assert "rank 1 comes last, 50.8 us a step behind the first (always the same); were it as fast as the median rank: 48." in text
    assert [section.title for section in ranks_sections(found)][:2] == ["What changes would bring", "Ranks"]
    heights = [bar.get_height() for bar in ranks_figure(found).axes[0].patches]
    assert np.argmax(heights[3:]) == 1, "lateness stands behind the times in operations"
    assert heights[4] == pytest.approx(50.8, abs=0.05)
    assert ranks_figure(found).axes[0].get_ylabel() == "time in a step (us)"


def test_one_rank_tells_no_straggler(tmp_path: Path) -> None:
    found = analyse_ranks(read_chrome(training_job(tmp_path / "job", [[40.0]])[0]))
    assert ranks_answer(found).text().endswith("one rank alone tells no waiting")


def test_shares_of_a_step(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[30.0]] * 3)[0])
    found = decompose(table, steps_of_ranks(table)[0])
    assert "187 us a step: 53.5 % computation, 26.7 % collective operations alone, 19.8 % device idle" in steps_answer(found).text()
    assert next(section.title for section in steps_sections(found)) == "Where the time of a step goes"
    assert steps_figure(found).axes[0].get_ylabel() == "time (us)"
    tops = [bar.get_y() + bar.get_height() for bar in steps_figure(found).axes[0].patches]
    assert abs(max(tops) - 187.0) < 1e-6


def test_a_trace_of_the_host_alone_has_no_device_that_idles(tmp_path: Path) -> None:
    """Half of each step loads, a quarter goes forward; the collective operation of 20 us runs beside both."""
    events = []
    for number in range(3):
        at = 100.0 * number
        events += [step(number, at, 100), complete("user_annotation", "enumerate(DataLoader)#next", at, 50)]
        events += [
            complete("cpu_op", "aten::conv2d", at + 50, 25),
            complete("user_annotation", "gloo:all_reduce", at + 40, 20, tid=12),
        ]
    table = read_chrome(write(tmp_path / "rank_0.json", events, 0))
    found = decompose(table, steps_of_ranks(table)[0])
    told = "100 us a step, no device recorded: 50.0 % loading, 25.0 % forward, 25.0 % other; 20.0 % collective operations alone"
    assert f"{told}, 80.0 % processor" in steps_answer(found).text()
    assert [text.get_text() for text in steps_figure(found).axes[0].get_legend().get_texts()][-1] == "processor"


def test_the_most_different_kinds_are_named(tmp_path: Path) -> None:
    tables = [read_chrome(training_job(tmp_path / str(length), [[30.0]], compute_us=length)[0]) for length in (100.0, 250.0)]
    found = difference(*tables)
    assert "kernels: each 2.5 x as long" in difference_answer(found).text()
    assert difference_answer(difference(tables[0], tables[0])).text().endswith("no kind of event differs")
    assert len(difference_sections(found)) == 3
