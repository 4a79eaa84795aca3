"""Steps by their marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles import complete, kernel, launch, step, training_job, write

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.windows import marked_steps, whole_recording


def test_a_step_on_the_host_lasts_to_the_next_the_last_to_its_work(tmp_path: Path) -> None:
    events = [step(4, 10, 5), step(5, 20, 5), launch(21, 1, 1), kernel(23, 30, 1)]
    found = marked_steps(read_chrome(write(tmp_path / "a.json", events, 0)), 0)
    assert found is not None
    assert (found.number.tolist(), found.start_ns.tolist(), found.end_ns.tolist()) == ([4, 5], [0, 10_000], [10_000, 43_000])


def test_what_follows_the_last_step_is_none_of_it(tmp_path: Path) -> None:
    """An evaluation behind the last mark launches at 40 and works until 90; the step's own work ends at 43."""
    events = [step(4, 10, 5), step(5, 20, 5), launch(21, 1, 1), kernel(23, 30, 1), launch(40, 1, 2), kernel(60, 40, 2)]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    found = marked_steps(table, 0)
    assert found is not None
    assert found.end_ns.tolist() == [10_000, 43_000]


def test_steps_that_a_profiler_left_out_are_none_of_the_one_before(tmp_path: Path) -> None:
    """A schedule with two cycles: steps 4 and 5, then 9; the work of 5 ends at 43."""
    events = [step(4, 10, 5), step(5, 20, 5), launch(21, 1, 1), kernel(23, 30, 1), step(9, 100, 7)]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    found, named = marked_steps(table, 0), marked_steps(table, 0, r"Step#(\d+)")
    assert found is not None
    assert named is not None
    assert found.end_ns.tolist() == [10_000, 43_000, 97_000]
    # Whether a program's own marks number every step nobody knows.
    assert named.end_ns.tolist() == [10_000, 90_000, 97_000]


def test_marks_on_the_device_bound_what_it_did(tmp_path: Path) -> None:
    events = [step(4, 10, 50), complete("gpu_user_annotation", "ProfilerStep#4", 30, 20, 0, 7, device=0, stream=7)]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    found = marked_steps(table, 0)
    assert found is not None
    assert (found.start_ns.tolist(), found.end_ns.tolist(), found.origin) == ([20_000], [40_000], "marks on the device")
    on_host = marked_steps(table, 0, on_host=True)
    assert on_host is not None
    assert on_host.start_ns.tolist() == [0]


def mark(number: int, start: int, duration: int, stream: int) -> dict[str, object]:
    """Of the profiler, on a stream of device 0."""
    return complete("gpu_user_annotation", f"ProfilerStep#{number}", start, duration, 0, stream, device=0, stream=stream)


def test_a_step_on_several_streams_is_one(tmp_path: Path) -> None:
    """A stream for computation and one for messages, whose work of step 4 ends when step 5 has begun."""
    events = [mark(4, 30, 20, 7), mark(4, 35, 30, 20), mark(5, 60, 20, 7), mark(5, 70, 40, 20)]
    found = marked_steps(read_chrome(write(tmp_path / "a.json", events, 0)), 0)
    assert found is not None
    assert found.number.tolist() == [4, 5]
    assert (found.end_ns - found.start_ns).tolist() == [30_000, 50_000]


def test_a_mark_that_is_listed_twice_is_one(tmp_path: Path) -> None:
    host = [step(4, 10, 5), step(5, 20, 5), launch(21, 1, 1), kernel(23, 30, 1)]
    for name, events in (("host", host), ("device", [*host, mark(4, 12, 6, 7), mark(5, 23, 30, 7)])):
        once, twice = (
            marked_steps(read_chrome(write(tmp_path / f"{name}_{len(each)}.json", each, 0)), 0) for each in (events, events * 2)
        )
        assert once is not None
        assert twice is not None
        assert len(once) == 2
        assert (twice.number.tolist(), twice.start_ns.tolist(), twice.end_ns.tolist()) == (
            once.number.tolist(),
            once.start_ns.tolist(),
            once.end_ns.tolist(),
        )


def test_other_marks_and_none(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 20.0]])[0])
    assert marked_steps(table, 0, "no such mark") is None
    found = marked_steps(table, 1, r"Step#(\d+)")
    assert found is not None
    assert len(found) == 1
    with pytest.raises(UsageError, match="regular expression"):
        marked_steps(table, 0, "(")


def test_the_whole_recording_is_one_step(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 20.0]])[0])
    found = whole_recording(table, 1)
    assert (len(found), found.start_ns[0], found.end_ns[0]) == (1, 0, table.end_ns[table.rank == 1].max())
    with pytest.raises(DataError, match="rank 7"):
        whole_recording(table, 7)
