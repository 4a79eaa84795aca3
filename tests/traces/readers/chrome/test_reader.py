"""Profiler's files of one rank and of a job, as tables."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.chrome.reader import read_chrome, read_rank_files


def one(name: str, category: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "ts": ts,
        "dur": dur,
        "pid": args.pop("pid", 1),
        "tid": args.pop("tid", 1),
        "args": args,
    }


EVENTS = [
    one("ProfilerStep#3", "user_annotation", 100.0, 50.0),
    one("aten::mm", "cpu_op", 101.0, 20.0, **{"Input Dims": [[2, 3], [3, 4]]}),
    one("cudaLaunchKernel", "cuda_runtime", 105.5, 2.25, correlation=11),
    one("sgemm", "kernel", 108.125, 10.0, pid=0, tid=7, device=0, stream=7, correlation=11),
    one("cudaLaunchKernel", "cuda_runtime", 122.0, 2.0, correlation=12),
    one("ncclDevKernel_AllReduce_Sum_f32", "kernel", 121.5, 8.0, pid=0, tid=20, device=0, stream=20, correlation=12),
    one("PyTorch Profiler (0)", "Trace", 0.0, 9e9),
    {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "GPU 0"}},
]


def write(path: Path, rank: int | None = None, **more: Any) -> Path:
    document = {"traceEvents": EVENTS, "baseTimeNanoseconds": 1_700_000_000_000_000_000, **more}
    if rank is not None:
        document["distributedInfo"] = {"rank": rank, "world_size": 2}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_slices_become_events(tmp_path: Path) -> None:
    """The profiler's own span is no event; times are exact; a kernel knows its operator and shapes."""
    table = read_chrome(write(tmp_path / "trace.json"))
    by_name = {name: row for row, name in enumerate(table.text(table.name))}
    assert len(table) == 6
    assert table.origin_ns == 1_700_000_000_000_100_000
    kernel = by_name["sgemm"]
    assert (table.start_ns[kernel], table.duration_ns[kernel]) == (8125, 10_000)
    assert (table.kind[kernel], table.device[kernel], table.stream[kernel]) == (Kind.KERNEL, 0, 7)
    assert table.strings[table.site[kernel]].startswith("aten::mm")
    assert table.kind[table.match[kernel]] == Kind.API
    assert table.rank.tolist() == [0] * 6


def test_a_kernel_that_began_before_its_launch_is_moved_and_counted(tmp_path: Path) -> None:
    table = read_chrome(write(tmp_path / "trace.json"))
    row = table.text(table.name).index("ncclDevKernel_AllReduce_Sum_f32")
    assert table.kind[row] == Kind.COLL
    assert table.start_ns[row] == table.start_ns[table.match[row]] == 22_000
    assert table.flags[row] & Flag.REPAIRED
    assert any("began before their launch, by 500 ns at most" in note for note in table.notes)


def test_several_files_are_ranks_of_one_job(tmp_path: Path) -> None:
    """Their collective operation is one."""
    for rank in range(2):
        write(tmp_path / f"r{rank}.json", rank)
    table = read_chrome(tmp_path)
    assert sorted(set(table.rank.tolist())) == [0, 1]
    collective = table.of_kind(Kind.COLL)
    assert len(collective) == 2
    assert collective.corr[0] == collective.corr[1] >= 0


def test_the_rank_is_told_by_document_name_or_asker(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"x_rank_{rank}.json") for rank in (4, 6)]
    assert set(read_rank_files(paths).rank.tolist()) == {4, 6}
    assert set(read_rank_files(paths, [0, 1]).rank.tolist()) == {0, 1}
    with pytest.raises(UsageError, match="got 1 ranks for 2 files"):
        read_rank_files(paths, [0])
    with pytest.raises(DataError, match="rank"):
        read_rank_files([write(tmp_path / "a.json"), write(tmp_path / "b.json")])


def test_a_cut_file_keeps_what_is_whole(tmp_path: Path) -> None:
    whole = write(tmp_path / "trace.json").read_text(encoding="utf-8")
    (tmp_path / "cut.json").write_text(whole[: whole.index("ncclDev")], encoding="utf-8")
    table = read_chrome(tmp_path / "cut.json")
    assert len(table) == 5
    assert table.notes


def test_gzip_and_archives(tmp_path: Path) -> None:
    path = write(tmp_path / "rank_0.json", 0)
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.write(path, "rank_0.json")
    assert len(read_chrome(tmp_path / "t.json.gz")) == len(read_chrome(tmp_path / "t.zip")) == 6


@pytest.mark.parametrize(("content", "message"), [("", "empty"), ("{}", "has no traceEvents")])
def test_what_holds_no_events_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_chrome(tmp_path / "x.json")
