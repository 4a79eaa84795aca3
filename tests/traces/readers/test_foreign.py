"""Tables and reports of other programs: read by the right reader, or refused with what makes them readable."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.registry import format_of

ROCPROF = '"Kind","Agent_Id","Queue_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("start_ns,duration_ns,rank,kind\n", "csv"),
        ("", "csv"),
        ("what,ever\n", "csv"),
        ("\ufeffStart (ns),Duration (ns),CorrId,Name\n", "nsys-stats"),
        ('==12== NVPROF is profiling\n"Start","Duration","Name","Correlation_ID"\nms,us,,\n', "nvprof"),
        ('"Index","KernelName","gpu-id","BeginNs","EndNs"\n', "rocprof"),
        (ROCPROF, "rocprof"),
    ],
)
def test_names_of_columns_tell(tmp_path: Path, content: str, found: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(content, encoding="utf-8")
    assert format_of(path) == found


def test_a_table_of_another_name_and_a_base_are_known_by_their_begins(tmp_path: Path) -> None:
    (tmp_path / "trace.log").write_text(ROCPROF, encoding="utf-8")
    assert format_of(tmp_path / "trace.log") == "rocprof"
    base = sqlite3.connect(tmp_path / "report.db")
    base.execute("CREATE TABLE a (b INTEGER)")
    base.close()
    assert format_of(tmp_path / "report.db") == "nsys"


@pytest.mark.parametrize("head", ["python  4100/4101  5000.123456:   10101 cycles:", "my tool 41 [003] 50.123456789: cpu-clock:"])
def test_what_perf_script_prints_is_known_by_its_first_sample(tmp_path: Path, head: str) -> None:
    path = tmp_path / "run.txt"
    path.write_text(f"# ========\n# hostname : vm\n#\n{head}\n\t7f00 main+0x2 (/bin/x)\n", encoding="utf-8")
    assert format_of(path) == "perf"


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("Time (%),Total Time (ns),Instances,Name\n", "is a summary", "nsys export"),
        ('"Name","Calls","TotalDurationNs"\n', "summary of rocprof", "_kernel_trace.csv"),
        ("timestamp, index, utilization.gpu [%]\n", "table of readings", "mlperf record"),
        ("device,GPU use (%)\n", "table of readings", "mlperf record"),
    ],
)
def test_tables_that_are_no_traces_are_refused(tmp_path: Path, content: str, message: str, hint: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message) as error:
        format_of(path)
    assert hint in (error.value.hint or "")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("run.nsys-rep", "nsys export --type sqlite -o run.sqlite run.nsys-rep"),
        ("run.qdrep", "nsys export"),
        ("host.xplane.pb", "trace.json.gz"),
        ("run.pftrace", "traceconv json run.pftrace"),
        ("perf.data", "perf script -i perf.data"),
        ("run.ncu-rep", "nsys profile"),
        ("run.darshan", "mlperf record"),
    ],
)
def test_what_must_be_converted_says_how(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / name).write_bytes(b"\0\1binary")
    with pytest.raises(DataError, match="which is not read") as error:
        format_of(tmp_path / name)
    assert hint in (error.value.hint or "")


def test_a_folder_of_runs_names_the_last(tmp_path: Path) -> None:
    for name in ("2026_01_01_00_00_00", "2026_01_02_00_00_00"):
        run = tmp_path / "plugins" / "profile" / name
        run.mkdir(parents=True)
        (run / "vm.trace.json.gz").write_bytes(b"")
    with pytest.raises(DataError, match="holds 2 profiled runs") as error:
        format_of(tmp_path)
    assert (error.value.hint or "").endswith("2026_01_02_00_00_00")
