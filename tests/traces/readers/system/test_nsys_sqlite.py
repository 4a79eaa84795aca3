"""SQLite files with the tables and columns of Nsight Systems' export (its documentation, "SQLite schema reference")."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, Kind
from mlperf.traces.readers.system.nsys_sqlite import read_nsys

TABLES = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm<float>'), (2, 'cudaLaunchKernel'), (3, 'ncclKernel_AllReduce'), (4, 'forward');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
  (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, demangledName INTEGER, shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 0, 7, 11, 1, 1), (3500, 3600, 1, 8, 12, 3, 3);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
  (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, bytes INTEGER, copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (500, 900, 0, 7, 10, 4096, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (950, 990, 83886087, 11, 2);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (400, 3900, 'step', NULL, 83886087), (450, 3000, NULL, 4, 83886087);
INSERT INTO NVTX_EVENTS VALUES (460, NULL, 'open', NULL, 83886087);
"""


def base(tmp_path: Path, script: str = TABLES) -> Path:
    path = tmp_path / "report.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


def test_everything_there_is(tmp_path: Path) -> None:
    found = read_nsys(base(tmp_path))
    told = dict(zip(found.text(found.name), found.kind.tolist(), strict=True))
    assert told == {
        "step": Kind.REGION,
        "forward": Kind.REGION,
        "Memcpy HtoD": Kind.MEMCPY,
        "cudaLaunchKernel": Kind.API,
        "gemm<float>": Kind.KERNEL,
        "ncclKernel_AllReduce": Kind.COLL,
    }
    assert found.start_ns.tolist() == [0, 50, 100, 550, 600, 3100]
    copy = found.take(found.kind == Kind.MEMCPY)
    assert (copy.size_bytes.tolist(), copy.peer.tolist(), copy.duration_ns.tolist()) == ([4096], [HOST], [400])
    call = found.take(found.kind == Kind.API)
    assert (call.pid.tolist(), call.tid.tolist(), call.corr.tolist()) == ([5], [7], [11])
    assert found.notes == ("the file has no table CUPTI_ACTIVITY_KIND_MEMSET",)


def test_times_count_from_the_sessions_begin_where_it_is_told(tmp_path: Path) -> None:
    assert read_nsys(base(tmp_path)).origin_ns == 400
    (tmp_path / "later").mkdir()
    session = "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);"
    session += "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '2023', '2023');"
    found = read_nsys(base(tmp_path / "later", TABLES + session))
    assert found.origin_ns == 1_700_000_000_000_000_400
    assert found.start_ns.tolist() == [0, 50, 100, 550, 600, 3100]


def test_graphs_that_were_recorded_as_wholes_are_busy_time_of_their_device(tmp_path: Path) -> None:
    graphs = """
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, graphId INTEGER, streamId INTEGER,
      correlationId INTEGER, globalPid INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (4000, 9000, 1, 3, 7, 20, 83886080), (9500, 9700, 1, 3, 7, 21, 83886080);
    """
    # A name that an address of a file would cut off.
    folder = tmp_path / "run #1 100%?"
    folder.mkdir()
    found = read_nsys(base(folder, TABLES + graphs))
    launches = found.take(found.start_ns >= 3600)
    assert launches.text(launches.name) == ["CUDA graph 3", "CUDA graph 3"]
    assert (launches.kind.tolist(), launches.duration_ns.tolist()) == ([Kind.KERNEL] * 2, [5000, 200])
    assert (launches.device.tolist(), launches.pid.tolist()) == ([1, 1], [5, 5])
    assert any("2 launches of CUDA graphs" in note for note in found.notes)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_nsys(tmp_path / "none")
    (tmp_path / "text").write_text("no data base, " * 100)
    with pytest.raises(DataError, match="cannot be read as SQLite"):
        read_nsys(tmp_path / "text")
    with pytest.raises(DataError, match="none of the tables"):
        read_nsys(base(tmp_path, "CREATE TABLE a (b INTEGER)"))
    (tmp_path / "late").mkdir()
    with pytest.raises(DataError, match="times that follow each other"):
        read_nsys(base(tmp_path / "late", TABLES.replace("(1000, 3000, 0", "(4000, 3000, 0")))


PROCESSES = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel'), (3, 'ncclDevKernel_AllReduce_Sum');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
  (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
"""


def two_processes(path: Path) -> Path:
    """Process 5 uses device 1, process 9 device 0, both with the same numbers of launches; process 7 none."""
    connection = sqlite3.connect(base(path, PROCESSES))
    for pid, device, late in ((5, 1, 0), (9, 0, 100)):
        for corr, name in ((1, 1), (2, 3)):
            at, owner = 1000 * corr + late, pid << 24
            kernel, call = (at + 50, at + 500, device, 7, corr, owner, name), (at, at + 10, owner + pid, corr, 2)
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)", kernel)
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", call)
    connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", (900, 990, 7 << 24, 1, 2))
    connection.commit()
    connection.close()
    return path / "report.sqlite"


def test_processes_with_devices_are_ranks_whose_launches_are_not_mixed(tmp_path: Path) -> None:
    found = read_nsys(two_processes(tmp_path))
    assert found.text(found.name[found.rank == -1]) == ["cudaLaunchKernel"]
    made = np.flatnonzero(found.kind == Kind.KERNEL)
    assert found.rank[made].tolist() == [1, 0]
    assert found.pid[found.match[made]].tolist() == [5, 9]
    operations = np.flatnonzero(found.kind == Kind.COLL)
    assert found.rank[operations].tolist() == [1, 0]
    assert len(set(found.corr[operations].tolist())) == 1
    assert any("2 processes use devices" in note for note in found.notes)


def test_launches_are_joined_with_what_they_started(tmp_path: Path) -> None:
    found = read_nsys(base(tmp_path))
    kernel, call = (int(np.flatnonzero(found.kind == kind)[0]) for kind in (Kind.KERNEL, Kind.API))
    assert (found.match[kernel], found.match[call]) == (call, kernel)
