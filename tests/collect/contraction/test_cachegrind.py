"""Simulated misses: the file format, and the counts of the shipped sweep."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.contraction import CacheSimulation, ContractionRequest, collect_contractions, parse_build
from mlperf.collect.contraction.cachegrind import function_counts
from mlperf.collect.counters.cachegrind import read_simulation
from mlperf.datasets import read_contractions

FAST = parse_build("gcc_O2_sse3_fast=gcc -O2 -ftree-vectorize -msse3 -ffast-math")
NEEDS_VALGRIND = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
TEXT = """\
desc: I1 cache:         32768 B, 64 B, 8-way associative
cmd: ./program 0 1
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
fl=???
fn=k_a
0 100 2 2 50 10 1 20 3
0 5
fn=main
0 7 1 1 1 1 1 1 1 1
fl=other.c
fn=k_a
12 1 0 0 1
summary: 113 3 3 52 11 2 21 4 1
"""


def test_counts_of_a_function_are_summed_over_its_lines(tmp_path: Path) -> None:
    (tmp_path / "out").write_text(TEXT, encoding="ascii")
    counts = function_counts(read_simulation(tmp_path / "out"))
    assert counts["k_a"] == {"Ir": 106, "I1mr": 2, "ILmr": 2, "Dr": 51, "D1mr": 10, "DLmr": 1, "Dw": 20, "D1mw": 3, "DLmw": 0}
    assert counts["main"]["DLmw"] == 1


@NEEDS_VALGRIND
def test_first_level_misses_of_the_sweep(one: ContractionRequest, shared_data: Path, tmp_path: Path) -> None:
    """24 kernels, gcc 12 -O2 SSE3 fast-math, N = 30, 32 KiB with 8 ways: correlation with the shipped counts at least 0.999."""
    shipped = pd.read_csv(shared_data / "simd_tensor" / "cachegrind_other_sizes.csv")
    shipped = shipped[(shipped["pattern_set"] == "contraction864") & (shipped["N"] == 30) & (shipped["l1_bytes"] == 32768)]
    chosen = tuple(shipped["pattern"].sample(24, random_state=0))
    request = replace(one, builds=(FAST,), patterns=chosen, subset=None, sizes=(30,))
    found = collect_contractions(replace(request, simulation=CacheSimulation()))
    assert found.n_simulated == 24
    counts = read_contractions(tmp_path).cachegrind
    assert counts is not None
    both = counts.merge(shipped, on="pattern", suffixes=("", "_shipped"))
    assert np.corrcoef(both["cg_D1mr"], both["cg_D1mr_shipped"])[0, 1] >= 0.999
    assert np.corrcoef(both["cg_Dr"], both["cg_Dr_shipped"])[0, 1] >= 0.999
    assert (both["cg_D1mr"] / both["cg_D1mr_shipped"]).between(0.97, 1.03).mean() > 0.9
