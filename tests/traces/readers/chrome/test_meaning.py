"""What profiler's events become in the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles import complete, kernel, launch, write

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.chrome.reader import read_chrome

BASE = 1_700_000_000_000_000_000


def test_kinds_places_and_times(tmp_path: Path) -> None:
    events = [
        complete("cpu_op", "aten::mm", 10.001, 30.5, **{"Input Dims": [[2, 3], [3, 4]]}),
        launch(12, 1, 7),
        kernel(20.25, 5.125, 7),
        complete("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 30, 2, 0, 7, device=0, stream=7, bytes=4096),
        complete("Trace", "PyTorch Profiler (0)", 0, 1e6, "Spans", "PyTorch Profiler"),
        {"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "args": {"name": "python"}},
        {"ph": "i", "name": "Record Window End", "ts": 99, "pid": "", "tid": ""},
    ]
    table = read_chrome(write(tmp_path / "a.json", events, 3, 8, baseTimeNanoseconds=BASE))
    assert table.origin_ns == BASE + 10_001
    assert [Kind(each).name for each in table.kind.tolist()] == ["REGION", "API", "KERNEL", "MEMCPY", "MARK"]
    assert table.start_ns.tolist() == [0, 1999, 10_249, 19_999, 88_999]
    assert table.duration_ns.tolist() == [30_500, 1000, 5125, 2000, 0]
    assert set(table.rank.tolist()) == {3}
    assert table.device.tolist() == [-1, -1, 0, 0, -1]
    assert table.size_bytes.tolist() == [0, 0, 0, 4096, 0]
    assert table.text(table.site) == ["[[2, 3], [3, 4]]", "", "aten::mm [[2, 3], [3, 4]]", "", ""]
    assert table.match.tolist() == [-1, 2, 1, -1, -1]
    assert table.attributes["process_names"] == {"3/10": "python"}
    assert (table.attributes["world_size"], table.notes) == (8, ())


def test_groups_sizes_and_numbers_of_collectives(tmp_path: Path) -> None:
    told = {"Process Group Name": "dp", "Seq": 12, "In msg nelems": 1000, "dtype": "BFloat16"}
    table = read_chrome(write(tmp_path / "a.json", [kernel(1, 2, 1, "ncclDevKernel_AllReduce", **told)], 0))
    assert (table.size_bytes.tolist(), table.tag.tolist(), table.comm.tolist()) == ([2000], [12], [0])
    assert table.attributes["communicators"] == {0: "dp"}


def test_old_names_of_categories_are_counted(tmp_path: Path) -> None:
    events = [complete("Runtime", "cudaLaunchKernel", 1, 1, correlation=5), kernel(3, 1, 5, category="Kernel")]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    assert table.text(table.name2) == ["cuda_runtime", "kernel"]
    assert table.notes == ("2 events have category names of before 2022",)


def test_a_synchronisation_tells_what_it_waits_for(tmp_path: Path) -> None:
    told = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 41, "stream": 20, "device": 0, "correlation": 42}
    table = read_chrome(write(tmp_path / "a.json", [complete("cuda_sync", "Stream Wait Event", 1, 1, 0, 20, **told)], 0))
    assert (table.peer.tolist(), table.tag.tolist(), table.stream.tolist()) == ([7], [41], [20])


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "kernels", "total_ms", "collectives"),
    [
        ("rank_0_of_128", 1154, 606.5, 10),
        ("rank_1_of_128", 1104, 651.0, 10),
        ("resnet_2080ti", 9628, 4103.1, 0),
        ("alexnet_a100", 79, 10.69, 0),
        ("toy_train_mi250", 14, 0.11, 0),
        ("old_category_names", 4, None, 0),
    ],
)
def test_counts_are_the_published_ones(
    name: str, kernels: int, total_ms: float | None, collectives: int, shared_data: Path
) -> None:
    """Figures of the data's own description; its kernels include collectives."""
    table = read_chrome(shared_data / "kineto_traces" / f"{name}.json.gz")
    device = table.of_kind(Kind.KERNEL, Kind.COLL)
    assert len(device) == kernels
    assert (table.kind == Kind.COLL).sum() == collectives
    if total_ms is not None:
        assert device.duration_ns.sum() / 1e6 == pytest.approx(total_ms, abs=0.05 if total_ms > 100 else 0.005)
