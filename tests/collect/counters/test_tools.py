"""Output of the tools, from texts with known numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.counters import papi, perf_stat
from mlperf.collect.counters.cachegrind import (
    SimulatedCaches,
    check_geometry,
    counters_from,
    function_table,
    probe_cachegrind,
    read_folder,
)
from mlperf.collect.counters.cachegrind_file import Cache, read_simulation
from mlperf.collect.counters.offers import ABSENT
from mlperf.collect.counters.papi import probe_papi
from mlperf.collect.counters.perf_stat import command_line, probe_perf_stat, read_output
from mlperf.collect.counters.perf_stat import counters_from as perf_counters
from mlperf.core.errors import DataError, UsageError

SIMULATED = """\
desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         32768 B, 64 B, 8-way associative
desc: LL cache:         524288 B, 64 B, direct-mapped
cmd: ./program
events: Ir Dr Dw
fl=/src/a.c
fn=work(int)
10 100 20 3
11 50 5 1
fi=/src/b.h
7 10 1
fe=/src/a.c
12 1
fl=???
fn=main
0 9 2 2
summary: 170 28 6
"""

PERF = """\
# started on Sat Nov 21 2026

1234567;;instructions:u;2000000;50.00;;
<not supported>;;cycles:u;0;100.00;;
<not counted>;;L1-dcache-loads:u;0;0.00;;
0;;context-switches:u;12500000;100.00;;
12,50;msec;task-clock:u;12500000;100.00;0.9;CPUs utilized
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cachegrind.1").write_text(SIMULATED, encoding="utf-8")
    (tmp_path / "cachegrind.2").write_text(SIMULATED, encoding="utf-8")
    return tmp_path


def test_functions_totals_and_geometry_of_a_simulation(folder: Path) -> None:
    found = read_simulation(folder / "cachegrind.1")
    assert found.totals == (170, 28, 6)
    assert found.functions["/src/a.c", "work(int)"] == (151, 25, 4)
    assert found.functions["/src/b.h", "work(int)"] == (10, 1, 0)
    assert found.caches["LL"] == Cache(524288, 64, 1)
    assert tuple(map(sum, zip(*found.functions.values(), strict=True))) == found.totals


def test_all_processes_count_and_an_inlined_function_is_one(folder: Path) -> None:
    simulation = read_folder(folder)
    values = counters_from(simulation)
    assert (values["cg_Ir"], values["cg_Dr"], values["cg_Dw"]) == (340, 56, 12)
    assert (values["cg_l1_bytes"], values["cg_l1_ways"], values["cg_ll_ways"], values["cg_line_bytes"]) == (32768, 8, 1, 64)
    table = function_table(simulation)
    assert list(table["function"]) == ["work(int)", "main"]
    assert list(table["cg_Ir"]) == [322, 18]


def test_a_simulation_that_breaks_off_is_bad_data(tmp_path: Path) -> None:
    path = tmp_path / "cachegrind.1"
    path.write_text(SIMULATED.partition("summary")[0], encoding="utf-8")
    with pytest.raises(DataError, match="before its summary"):
        read_simulation(path)
    path.write_text("fn=f\n3 x\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        read_simulation(path)


@pytest.mark.parametrize("text", ["32768", "32768,8", "32768,8,60", "1000,8,64", "32768;8;64", "-1,8,64", "0,8,64"])
def test_a_geometry_that_is_none_is_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match="SIZE,WAYS,LINE"):
        check_geometry(text)


def test_geometries_become_options() -> None:
    check_geometry("49152,12,64")
    assert SimulatedCaches("49152,12,64", "").options == ["--D1=49152,12,64"]


def test_perf_stat_lines_by_event_and_missing_ones_are_missing() -> None:
    names = ("perf_instructions", "perf_cycles", "perf_l1d_loads", "perf_task_clock_s", "perf_page_faults", "perf_context_switches")
    lines = read_output(PERF, names)
    assert lines["perf_cycles"].words == "not supported"
    assert "perf_page_faults" not in lines
    assert "perf_context_switches" not in lines
    counted = perf_counters(PERF, names)
    assert counted.values == {"perf_instructions": 1234567.0, "perf_task_clock_s": 0.0125, "perf_running_share": 0.5}
    assert counted.scaled == ["perf_instructions"]


def test_every_column_of_perf_stat_has_an_event(tmp_path: Path) -> None:
    from mlperf.datasets.dictionary.counters import counters_of

    names = [counter.name for counter in counters_of("perf-stat")]
    assert list(perf_stat.NAMES) == names
    assert command_line(["x", "-y"], names[:2], tmp_path)[-3:] == ["--", "x", "-y"]


@pytest.mark.parametrize("kind", ["cachegrind", "perf-stat", "papi"])
def test_a_tool_that_is_not_installed_is_absent_and_named_with_its_package(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(papi, "library", lambda: None)
    probes = {
        "cachegrind": lambda: probe_cachegrind(["cg_Ir"], tmp_path),
        "perf-stat": lambda: probe_perf_stat(["perf_cycles"], tmp_path),
        "papi": lambda: probe_papi(["papi_tot_ins"]),
    }
    offer = probes[kind]()
    assert (offer.status, offer.usable) == (ABSENT, ())
    assert "not installed" in offer.why
    assert offer.package
