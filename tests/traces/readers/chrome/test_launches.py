"""Launches joined with what they started, and effects before their causes put right."""

from __future__ import annotations

from pathlib import Path

from profiles import kernel, launch, write

from mlperf.traces.events.kinds import Flag
from mlperf.traces.readers.chrome.reader import read_chrome


def test_a_kernel_before_its_launch_is_moved_and_what_it_overlaps_behind_it(tmp_path: Path) -> None:
    events = [launch(10, 1, 1), launch(12, 1, 2), launch(13, 1, 3), kernel(8, 5, 1), kernel(13, 4, 2), kernel(30, 1, 3)]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    origin = table.origin_ns
    assert (table.start_ns[3:] + origin).tolist() == [10_000, 15_000, 30_000]
    assert table.duration_ns[3:].tolist() == [5000, 4000, 1000]
    assert (table.flags & int(Flag.REPAIRED) > 0).tolist() == [False, False, False, True, True, False]
    assert table.notes == (
        "1 device activities began before their launch, by 2000 ns at most, and are moved to it; "
        "1 more behind them on their streams are moved on",
    )


def test_what_overlapped_before_is_left_so(tmp_path: Path) -> None:
    """Kernels of one stream that a graph runs at once are no fault."""
    events = [launch(1, 1, 1), launch(2, 1, 2), kernel(5, 10, 1), kernel(6, 10, 2)]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    assert not table.notes
    assert table.flags.max() == 0


def test_a_launch_of_several_is_joined_with_the_first(tmp_path: Path) -> None:
    events = [launch(1, 1, 4), kernel(9, 1, 4), kernel(5, 1, 4), kernel(20, 1, 9)]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    assert table.match.tolist() == [1, 0, 0, -1]
