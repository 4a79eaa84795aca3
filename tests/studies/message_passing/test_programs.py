"""The example programs run for real, with few ranks and little to wait for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.studies.message_passing.programs import BUSY, Launch, Programs, build_programs, measured, plain_s
from mlperf.traces.events.kinds import Kind

pytestmark = pytest.mark.slow


def test_repeats_keep_the_run_nearest_to_the_median(programs: Programs) -> None:
    launch = Launch((str(programs.path("compositing")), "--side", "32"), 2, "compositing")
    found = measured(programs, launch, 3)
    assert len(found.times_s) == 3
    assert found.median_s == sorted(found.times_s)[1]
    assert found.n_events == len(found.table) == 2 * (2 + 2)


def test_the_order_of_control_points_is_what_was_asked_for(programs: Programs) -> None:
    order = [5, 3, 1, 0, 2, 4]
    words = ("--points", "6", "--time-ms", "0.2", "--order", ",".join(map(str, order)))
    table = measured(programs, Launch((str(programs.path("registration")), *words), 4, "PRGN"), 1).table
    messages = table.of_kind(Kind.SEND, Kind.RECV)
    met = set()
    for rank in range(4):
        tags = list(dict.fromkeys(messages.tag[messages.rank == rank].tolist()))
        assert tags == [point for point in order if point in tags]
        met |= set(tags)
    assert met == set(order)
    groups = {point: frozenset(messages.rank[messages.tag == point].tolist()) for point in order}
    assert {len(group) for group in groups.values()} <= {2, 4}


def test_every_pair_of_a_binary_swap_exchanges_once_in_each_stage(programs: Programs) -> None:
    table = measured(programs, Launch((str(programs.path("compositing")), "--side", "64"), 4, "compositing"), 1).table
    sends = table.of_kind(Kind.SEND)
    assert Counter(zip(sends.rank.tolist(), sends.peer.tolist(), strict=True)) == {
        (rank, rank ^ bit): 1 for rank in range(4) for bit in (1, 2)
    }


@pytest.mark.parametrize(("split", "is_even"), [("block", False), ("interleaved", True)])
def test_interleaved_rows_even_out_the_second_stage(split: str, is_even: bool, programs: Programs) -> None:
    words = ("--side", "256", "--ns-per-pixel", "0", "--split", split)
    table = measured(programs, Launch((str(programs.path("compositing")), *words), 4, "compositing"), 1).table
    sends = table.of_kind(Kind.SEND)
    first, second = (sends.size_bytes[sends.tag == bit].astype(float) for bit in (1, 2))
    assert first.max() < 1.05 * first.min()
    assert bool(second.max() < 1.05 * second.min()) == is_even


def test_waits_that_rest_give_the_same_messages(programs: Programs) -> None:
    words = ("--side", "64", "--exchange", "turns")
    tables = [
        measured(programs, Launch((str(programs.path("compositing", waits)), *words), 2), 1).table for waits in ("resting", BUSY)
    ]
    both = [[(one.kind.tolist(), one.size_bytes.tolist()) for one in (table.of_kind(Kind.SEND, Kind.RECV),)] for table in tables]
    assert both[0] == both[1]


def test_three_ranks_cannot_swap(programs: Programs) -> None:
    with pytest.raises(DataError, match="expected time_s"):
        plain_s(Launch((str(programs.path("compositing")),), 3))


def test_sources_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlperf.studies.message_passing.programs.build_recorder", lambda folder: folder / "recorder.so")
    with pytest.raises(DataError, match="does not compile"):
        build_programs(tmp_path, tmp_path / "built")


def test_both_examples_agree_about_what_a_stage_sends(programs: Programs) -> None:
    """Half of the opaque pixels of a quarter-by-0.35 ellipse, 16 bytes each, and two numbers for every row given away."""
    words = ("--side", "512", "--ns-per-pixel", "0")
    table = measured(programs, Launch((str(programs.path("compositing")), *words), 2, "compositing"), 1).table
    sizes = table.size_bytes[table.kind == Kind.SEND]
    expected = np.pi * 0.35 * 0.25 * 512**2 / 2 * 16 + 256 * 8
    assert sizes == pytest.approx(expected, rel=0.01)
