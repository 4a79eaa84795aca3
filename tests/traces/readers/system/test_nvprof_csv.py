"""nvprof's tables as its user's guide (CUDA 9, section on GPU-trace and API-trace modes) prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, Kind
from mlperf.traces.readers.system.nvprof_csv import read_nvprof

GPU = """==27706== NVPROF is profiling process 27706, command: matrixMul
==27706== Profiling result:
"Start","Duration","Grid X","Size","Throughput","Device","Context","Stream","Name","Correlation_ID"
ms,us,,KB,GB/s,,,,,
133.81,135.78,,400.00,2.8091,"GeForce GT 640M LE (0)",1,7,"[CUDA memcpy HtoD]",120
134.66,1820.0,20,,,"GeForce GT 640M LE (0)",1,7,"void matrixMulCUDA<int=32>(float*, float*, float*, int, int) [134]",134
136.50,2.0,,,,"GeForce GT 640M LE (1)",1,8,"[CUDA memset]",140
140.50,20.0,,,,"GeForce GT 640M LE (1)",1,8,"ncclAllReduceRingKernel(ncclColl) [150]",150
"""
API = """"Start","Duration","Name","Correlation_ID"
s,us,,
0.1,5.5,"cudaMemcpy",120
0.2,7.5,"cudaLaunch (matrixMulCUDA [134])",134
"""


def read(tmp_path: Path, text: str):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    return read_nvprof(path)


def test_kernels_and_copies(tmp_path: Path) -> None:
    found = read(tmp_path, GPU)
    assert found.kind.tolist() == [Kind.MEMCPY, Kind.KERNEL, Kind.MEMSET, Kind.COLL]
    assert found.start_ns.tolist() == [0, 850_000, 2_690_000, 6_690_000]
    assert found.duration_ns.tolist() == [135_780, 1_820_000, 2_000, 20_000]
    assert found.size_bytes.tolist() == [409_600, 0, 0, 0]
    assert found.device.tolist() == [0, 0, 1, 1]
    assert found.stream.tolist() == [7, 7, 8, 8]
    assert found.peer.tolist() == [HOST, -1, -1, -1]
    assert found.corr.tolist() == [120, 134, 140, 150]
    assert found.text(found.name)[1].endswith("float*, int, int)")


def test_calls(tmp_path: Path) -> None:
    found = read(tmp_path, API)
    assert found.kind.tolist() == [Kind.API, Kind.API]
    assert found.duration_ns.tolist() == [5_500, 7_500]
    assert found.start_ns.tolist() == [0, 100_000_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "names Start, Duration, Name"),
        ("Start,Duration,Name\n1,2,x\n", "row of units"),
        ("Start,Duration,Name\ns,weeks,\n1,2,x\n", "unit 'weeks'"),
        ("Start,Duration,Name\ns,us,\n-1,2,x\n", "line 3, column Start"),
        ("Start,Duration,Name\ns,us,\n1,2,x,9\n", "line 3"),
    ],
)
def test_wrong_tables_name_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)
