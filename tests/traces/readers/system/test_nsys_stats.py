"""Tables with the columns that the reports of Nsight Systems print (its Post-Collection Analysis Guide)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.readers.system.nsys_stats import read_nsys_stats
from mlperf.traces.writers.registry import export_trace

HEAD = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),"
    "SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
)
GPU = f"""Processing [report1.sqlite] with [cuda_gpu_trace.py]...
{HEAD}744204000,1504,112,,,,,,,,,,0.004,680.8,Pageable,Device,NVIDIA H200 (0),1,,7,[CUDA memcpy Host-to-Device]
744207000,2304,115,128,1,1,256,1,1,32,0.000,0.000,,,,,NVIDIA H200 (0),1,,7,"void fill<float, 4>(int, T2)"
744280000,152304,121,32,1,1,544,1,1,96,0.052,0.083,,,,,NVIDIA H200 (1),1,,20,ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
744480000,900,125,,,,,,,,,,2.000,4.5,Device,,NVIDIA H200 (0),1,,7,[CUDA memset]
"""
CALLS = """Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name
744206000,700,cudaLaunchKernel,0,115,4100,4101,20,python
"""
RANGES = """Start (us),End (us),Duration (us),DurChild (us),DurNonChild (us),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack
744206.000,744216.5,10.5,0,10.5,:step,4100,4101,0,0,1,,:1
"""
SUMMARY = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
73.5,152304,1,152304.0,152304.0,152304,152304,0.0,gemm
"""


def read(tmp_path: Path, text: str) -> EventTable:
    path = tmp_path / "report1_cuda_gpu_trace.csv"
    path.write_text(text, encoding="utf-8")
    return read_nsys_stats(path)


def test_what_ran_on_devices(tmp_path: Path) -> None:
    found = read(tmp_path, GPU)
    assert found.kind.tolist() == [Kind.MEMCPY, Kind.KERNEL, Kind.COLL, Kind.MEMSET]
    assert found.start_ns.tolist() == [0, 3000, 76_000, 276_000]
    assert found.duration_ns.tolist() == [1504, 2304, 152_304, 900]
    assert found.device.tolist() == [0, 0, 1, 0]
    assert found.stream.tolist() == [7, 7, 20, 7]
    assert found.corr.tolist() == [112, 115, 121, 125]
    assert found.size_bytes.tolist() == [4000, 0, 0, 2_000_000]
    assert found.peer.tolist() == [HOST, -1, -1, -1]
    assert found.text(found.name)[:2] == ["Memcpy HtoD", "void fill<float, 4>(int, T2)"]


def test_several_reports_of_a_file_are_joined_and_summaries_told(tmp_path: Path) -> None:
    found = read(tmp_path, f"{GPU}\n{CALLS}\nProcessing [report1.sqlite] with [x.py]...\n{RANGES}\n{SUMMARY}")
    assert found.notes == ("1 summaries in the file are left out",)
    kernel, call, marked = (int(np.flatnonzero(found.kind == kind)[0]) for kind in (Kind.KERNEL, Kind.API, Kind.REGION))
    assert (found.match[kernel], found.match[call]) == (call, kernel)
    assert (found.start_ns[call], found.pid[call], found.tid[call]) == (2000, 4100, 4101)
    assert (found.start_ns[marked], found.duration_ns[marked]) == (2000, 10_500)
    assert found.text(found.name[[marked]]) == ["step"]


@pytest.mark.parametrize(("unit", "factor"), [("us", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("nsec", 1.0)])
def test_units_stand_in_the_names_of_columns(tmp_path: Path, unit: str, factor: float) -> None:
    found = read(tmp_path, f"Start({unit}),Duration({unit}),CorrId,Name\n1,2.5,1,gemm\n3,0.5,2,gemm\n")
    assert found.start_ns.tolist() == [0, round(2 * factor)]
    assert found.duration_ns.tolist() == [round(2.5 * factor), round(0.5 * factor)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SUMMARY, "is a summary"),
        ("a,b\n1,2\n", r"names Start \(ns\)"),
        ("Start (weeks),Duration (ns),Name\n1,2,x\n", r"line 2, column Start \(weeks\): got unit 'weeks'"),
        ("Start (ns),Duration (ns),Name\n1,-2,x\n", r"line 2, column Duration \(ns\): got '-2'"),
        ("Start (ns),Duration (ns),Name\n1,2,x,3\n", "got 4 columns, expected 3"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def test_the_registry_knows_it_by_its_columns(tmp_path: Path) -> None:
    assert len(read(tmp_path, GPU)) == len(read_trace(tmp_path / "report1_cuda_gpu_trace.csv")) == 4


@pytest.mark.parametrize("ending", ["npz", "csv", "json"])
def test_copies_from_the_host_come_back_from_what_is_stored(tmp_path: Path, ending: str) -> None:
    """The host is no rank, and the other end of a copy all the same."""
    found = read(tmp_path, GPU)
    path = tmp_path / f"stored.{ending}"
    export_trace(found, path)
    assert read_trace(path).peer.tolist() == found.peer.tolist()
