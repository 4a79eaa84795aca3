"""Simulations of caches, from a text with known numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.counters.cachegrind_file import Cache, read_simulation
from mlperf.core.errors import DataError

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
