"""Files, folders and archives; ranks; what is cut off."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from profiles import complete, document, kernel, launch, write

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.chrome.reader import read_chrome, read_rank_files
from mlperf.traces.readers.registry import read_trace

EVENTS = [launch(1, 1, 1), kernel(5, 3, 1)]


def test_the_rank_is_the_files_then_its_names_then_asked_for(tmp_path: Path) -> None:
    told = write(tmp_path / "rank_9.json", EVENTS, 4)
    named = write(tmp_path / "worker-3.json", EVENTS)
    nothing = write(tmp_path / "trace.json", EVENTS)
    assert set(read_rank_files([told, named]).rank.tolist()) == {3, 4}
    assert set(read_rank_files([told, named, nothing], [0, 1, 2]).rank.tolist()) == {0, 1, 2}
    assert read_chrome(nothing).notes == ("the file tells no rank: it is taken as rank 0",)
    with pytest.raises(DataError, match="tells no rank"):
        read_rank_files([told, nothing])
    with pytest.raises(UsageError, match="got 1 ranks for 2 files"):
        read_rank_files([told, named], [0])


def test_two_files_of_one_rank_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", EVENTS, 1) for name in "ab"]
    with pytest.raises(DataError, match="is of rank 1, as"):
        read_rank_files(paths)


def test_cycles_of_a_profilers_schedule_are_one_rank(tmp_path: Path) -> None:
    """``tensorboard_trace_handler`` writes ``host_process.nanoseconds.pt.trace.json`` once a cycle; no rank in one process."""
    for written, base_ns in ((1795948950959987348, 5_000_000), (1795948950889777878, 0)):
        write(tmp_path / f"vm_118.{written}.pt.trace.json", EVENTS, baseTimeNanoseconds=base_ns)
    table = read_trace(tmp_path)
    assert (len(table), table.n_ranks) == (4, 1)
    assert np.ptp(table.start_ns) == 5_004_000
    assert read_rank_files(sorted(tmp_path.iterdir())).start_ns.tolist() == table.start_ns.tolist()


def test_cycles_of_several_ranks_stay_apart_and_of_two_runs_are_refused(tmp_path: Path) -> None:
    for rank in (0, 1):
        for cycle in (0, 1):
            write(tmp_path / f"vm_{rank}.179594895088977787{cycle}.pt.trace.json", EVENTS, rank)
    assert np.bincount(read_chrome(tmp_path).rank).tolist() == [4, 4]
    write(tmp_path / "vm_7.1795948950889777870.pt.trace.json", EVENTS, 0)
    with pytest.raises(DataError, match="is of rank 0, as") as error:
        read_chrome(tmp_path)
    assert "two runs" in (error.value.hint or "")


def test_a_cut_file_keeps_what_is_whole_and_says_so(tmp_path: Path) -> None:
    text = document([complete("cpu_op", f"op{place}", place, 1) for place in range(1000)])
    packed = gzip.compress(text.encode())
    path = tmp_path / "cut.json.gz"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    table = read_chrome(path)
    assert 300 < len(table) < 1000
    assert table.start_ns.tolist() == [1000 * place for place in range(len(table))]
    assert (table.flags & int(Flag.TRUNCATED)).astype(bool).sum() == 1
    assert "is cut off: its compression ends early" in table.notes[1]


def test_the_registry_knows_the_format(tmp_path: Path) -> None:
    path = write(tmp_path / "rank_0.json", EVENTS, 0)
    assert len(read_trace(path)) == 2
    assert len(read_trace(path.rename(tmp_path / "unnamed"))) == 2
    folder = tmp_path / "all"
    folder.mkdir()
    write(folder / "rank_0.json", EVENTS, 0)
    table = read_trace(folder)
    assert table.match.tolist() == [1, 0], "matching messages leaves launches alone"


@pytest.mark.parametrize("content", [b"", b"{}", b'{"traceEvents": {}}', b"PK", b"\x1f\x8b"])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.json"):
        read_chrome(path)


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "gone.json", "empty"])
def test_broken_archives_missing_files_and_empty_folders_are_refused(name: str, tmp_path: Path) -> None:
    if name == "empty":
        (tmp_path / name).mkdir()
    elif name != "gone.json":
        (tmp_path / name).write_bytes(b"no archive")
    with pytest.raises(DataError):
        read_chrome(tmp_path / name)


@pytest.mark.data
def test_the_profilers_own_span_is_no_part_of_the_recording(shared_data: Path) -> None:
    """43 s around 11 ms of kernels."""
    table = read_chrome(shared_data / "kineto_traces" / "alexnet_a100.json.gz")
    assert "Trace" not in table.text(table.name2)


@pytest.mark.data
def test_ranks_of_a_job_meet_in_their_collectives(shared_data: Path) -> None:
    """The published anchor: the first operation ends on all ranks within 2 us, begins on rank 7 last, 7.62 ms late."""
    folder = shared_data / "kineto_traces"
    table = read_rank_files(sorted(folder.glob("dlrm_v100_rank_*.json.gz")))
    members = np.flatnonzero(table.kind == Kind.COLL)
    assert len(members) == 64
    assert np.bincount(np.unique(table.corr[members], return_inverse=True)[1]).tolist() == [8] * 8
    first = members[table.corr[members] == table.corr[members[np.argmin(table.end_ns[members])]]]
    assert np.ptp(table.end_ns[first]) <= 2000
    by_start = table.rank[first[np.argsort(table.start_ns[first])]].tolist()
    assert (by_start[0], by_start[-1]) == (1, 7)
    assert np.ptp(table.start_ns[first]) / 1e6 == pytest.approx(7.62, abs=0.005)
