"""Counts of all processes of a simulation, and geometries in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.counters.cachegrind import (
    Cache,
    SimulatedCaches,
    check_geometry,
    counters_from,
    function_table,
    read_folder,
    read_simulation,
)
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cachegrind.1").write_text(SIMULATED, encoding="utf-8")
    (tmp_path / "cachegrind.2").write_text(SIMULATED, encoding="utf-8")
    return tmp_path


def test_all_processes_count_and_an_inlined_function_is_one(folder: Path) -> None:
    simulation = read_folder(folder)
    values = counters_from(simulation)
    assert (values["cg_Ir"], values["cg_Dr"], values["cg_Dw"]) == (340, 56, 12)
    assert (values["cg_l1_bytes"], values["cg_l1_ways"], values["cg_ll_ways"], values["cg_line_bytes"]) == (32768, 8, 1, 64)
    table = function_table(simulation)
    assert list(table["function"]) == ["work(int)", "main"]
    assert list(table["cg_Ir"]) == [322, 18]


@pytest.mark.parametrize("text", ["32768", "32768,8", "32768,8,60", "1000,8,64", "32768;8;64", "-1,8,64", "0,8,64"])
def test_a_geometry_that_is_none_is_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match="SIZE,WAYS,LINE"):
        check_geometry(text)


def test_geometries_become_options() -> None:
    check_geometry("49152,12,64")
    assert SimulatedCaches("49152,12,64", "").options == ["--D1=49152,12,64"]


def test_functions_totals_and_geometry_of_a_simulation(folder: Path) -> None:
    found = read_simulation(folder / "cachegrind.1")
    assert found.totals == (170, 28, 6)
    assert found.functions["/src/a.c", "work(int)"] == (151, 25, 4)
    assert found.functions["/src/b.h", "work(int)"] == (10, 1, 0)
    assert found.caches["LL"] == Cache(524288, 64, 1)
    assert tuple(map(sum, zip(*found.functions.values(), strict=True))) == found.totals


def test_a_simulation_that_breaks_off_is_bad_data(tmp_path: Path) -> None:
    path = tmp_path / "cachegrind.1"
    path.write_text(SIMULATED.partition("summary")[0], encoding="utf-8")
    with pytest.raises(DataError, match="before its summary"):
        read_simulation(path)
    path.write_text("fn=f\n3 x\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        read_simulation(path)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("summary: 170 28 6", "summary: -170 28 6", "line 17"),
        ("10 100 20 3", "10 -100 20 3", "line 8"),
        ("10 100 20 3", "10 ١ 20 3", "line 8"),
        ("10 100 20 3", "10 99999999999999999999 20 3", "line 8"),
        ("10 100 20 3", "10 1 2 3 4", "line 8"),
        ("32768 B, 64 B", "32768 B, 0 B", "line 1"),
        ("32768 B, 64 B, 8-way", "32 B, 64 B, 8-way", "line 1"),
        ("8-way associative", "0-way associative", "line 1"),
    ],
)
def test_counts_and_caches_that_no_simulation_has_are_refused(old: str, new: str, place: str, tmp_path: Path) -> None:
    assert old in SIMULATED
    path = tmp_path / "cachegrind.1"
    path.write_text(SIMULATED.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=f"{place}$|{place}: ") as caught:
        read_simulation(path)
    assert "expected a line of cachegrind" in caught.value.message


def test_as_many_totals_as_events_are_expected(tmp_path: Path) -> None:
    path = tmp_path / "cachegrind.1"
    path.write_text(SIMULATED.replace("summary: 170 28 6", "summary: 170 28"), encoding="utf-8")
    with pytest.raises(DataError, match="got 2 totals of the events Ir Dr Dw"):
        read_simulation(path)
