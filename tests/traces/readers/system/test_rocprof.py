"""Tables of rocprof and rocprofv3 with the columns that AMD's documentation lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, Kind
from mlperf.traces.readers.system.rocprof import read_rocprof

OLD = """"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","BeginNs","EndNs","DurationNs"
0,"Cijk_Ailk_Bljk_SB_MT64x64",4,0,0,99,101,1024,1000,3000,2000
1,"ncclDevKernel_AllReduce",4,1,2,99,101,64,2500,2600,100
"""
KERNELS = """"Kind","Agent_Id","Queue_Id","Thread_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH","Agent 4",2,7,"vectorAdd(float*)",11,500,700
"""
COPIES = """"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",0,1,5,100,350
"""


def read(tmp_path: Path, text: str):
    path = tmp_path / "results.csv"
    path.write_text(text)
    return read_rocprof(path)


def test_the_old_profiler(tmp_path: Path) -> None:
    found = read(tmp_path, OLD)
    assert found.kind.tolist() == [Kind.KERNEL, Kind.COLL]
    assert found.duration_ns.tolist() == [2000, 100]
    assert found.start_ns.tolist() == [0, 1500]
    assert (found.device.tolist(), found.stream.tolist(), found.tid.tolist()) == ([4, 4], [0, 1], [101, 101])


def test_the_new_profilers_kernels_and_copies(tmp_path: Path) -> None:
    found = read(tmp_path, KERNELS)
    assert found.kind.tolist() == [Kind.KERNEL]
    assert (found.device.tolist(), found.corr.tolist()) == ([4], [11])
    copies = read(tmp_path, COPIES)
    assert copies.kind.tolist() == [Kind.MEMCPY]
    assert copies.text(copies.name) == ["Memcpy HtoD"]
    assert (copies.peer.tolist(), copies.device.tolist()) == ([HOST], [1])
    back = read(tmp_path, COPIES.replace("HOST_TO_DEVICE", "DEVICE_TO_HOST").replace(",0,1,5", ",1,0,5"))
    assert (back.text(back.name), back.device.tolist()) == (["Memcpy DtoH"], [1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("3000", "900", "column EndNs"), ("1000,", "x,", "column BeginNs"), ("EndNs", "End", "names BeginNs")],
)
def test_wrong_tables_name_their_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, OLD.replace(old, new, 1))
