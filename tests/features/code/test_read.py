"""Counts of every reading of one code against stored true counts, and against one another."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mlperf.features.code import FunctionCounts, count_instructions

BUNDLED = Path(__file__).parents[2] / "reference" / "assembly"
Key = tuple[str, str, str]


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


@cache
def true_counts(folder: Path) -> dict[tuple[str, str, str, str], dict[str, int]]:
    found: dict[tuple[str, str, str, str], dict[str, int]] = defaultdict(dict)
    for row in rows(folder / "counts.csv"):
        found[row["build"], row["file"], row["function"], row["scope"]][row["mnemonic"]] = int(row["count"])
    return found


@cache
def true_loops(folder: Path) -> dict[Key, tuple[int, ...]]:
    columns = ("n_insn", "n_loops", "n_innermost", "max_depth", "n_inner")
    return {
        (row["build"], row["file"], row["function"]): tuple(int(row[name]) for name in columns)
        for row in rows(folder / "loops.csv")
    }


def readings(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*/*") if path.parent.name != "sources")


def summary(counts: FunctionCounts) -> tuple[int, ...]:
    loops, inner = counts.loops, counts.inner
    assert loops is not None
    assert inner is not None
    return (counts.total.n_instructions, loops.n_loops, loops.n_innermost, loops.max_depth, inner.n_instructions)


def differences(folder: Path, path: Path) -> list[str]:
    """Functions of a file whose counts or loops differ from the truth."""
    counts, loops = true_counts(folder), true_loops(folder)
    build, file = path.parent.name, path.name.partition(".")[0]
    wanted = {key for key in loops if key[:2] == (build, file)}
    found = {(build, file, one.function): one for one in count_instructions(path)}
    wrong = [f"{key[2]}: missing or not wanted" for key in wanted ^ set(found)]
    for key in wanted & set(found):
        one = found[key]
        assert one.inner is not None
        if summary(one) != loops[key]:
            wrong.append(f"{key[2]}: loops {summary(one)}, expected {loops[key]}")
        if dict(one.total.mnemonics) != counts[(*key, "total")]:
            wrong.append(f"{key[2]}: totals differ")
        if dict(one.inner.mnemonics) != counts.get((*key, "innermost"), {}):
            wrong.append(f"{key[2]}: innermost loops differ")
    return wrong


def test_the_bundled_fixtures_have_every_form() -> None:
    endings = {path.name.partition(".")[2] for path in readings(BUNDLED)}
    assert endings == {
        "s", "intel.s", "o", "objdump.txt", "objdump-att.txt", "objdump-intel.txt", "llvm-objdump.txt",
    }  # fmt: skip


@pytest.mark.parametrize("path", readings(BUNDLED), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_reading_gives_the_true_counts(path: Path) -> None:
    assert differences(BUNDLED, path) == []


@pytest.mark.parametrize("path", readings(BUNDLED), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_totals_without_loops_are_the_same(path: Path) -> None:
    with_loops = {one.function: one.total for one in count_instructions(path)}
    without = {one.function: one.total for one in count_instructions(path, loops=False)}
    assert with_loops == without


def test_classes_widths_and_memory_operands_agree_between_the_readings() -> None:
    by_function: dict[Key, set[tuple[object, ...]]] = defaultdict(set)
    for path in readings(BUNDLED):
        for one in count_instructions(path):
            for tally in (one.total, one.inner):
                assert tally is not None
                facts = (
                    tuple(sorted(tally.kinds.items())),
                    tally.n_memory,
                    tally.loads,
                    tally.stores,
                    tally.vector_bits,
                    tally.lanes,
                )
                by_function[path.parent.name, path.name.partition(".")[0], f"{one.function} {tally is one.total}"].add(facts)
    assert {key for key, facts in by_function.items() if len(facts) != 1} == set()


def test_every_open_fixture_gives_the_true_counts(shared_data: Path) -> None:
    folder = shared_data / "simd_tensor" / "assembly"
    paths = readings(folder)
    assert len(paths) > 250
    assert [f"{path.parent.name}/{path.name}, {text}" for path in paths for text in differences(folder, path)] == []


def test_counts_agree_with_the_columns_of_the_shipped_sweep(shared_data: Path) -> None:
    import pandas as pd

    folder = shared_data / "simd_tensor"
    sweep = pd.read_csv(folder / "measurements.csv.gz")
    sweep = sweep[(sweep.build == "gcc_O2_sse3_fast") & (sweep.N == 100) & (sweep.pattern_set == "contraction864")]
    rows_of = sweep.set_index("pattern")
    passes = pd.read_csv(folder / "llvm_mca19_gcc_O2_sse3_fast_N100.csv").set_index("pattern").iters_per_block
    checked = 0
    for path in (folder / "assembly" / "gcc12_O2_sse3_fast").glob("*.s"):
        pattern = path.name.partition(".")[0].removeprefix("k_").replace("_", "-")
        if path.name.endswith("intel.s") or pattern not in rows_of.index:
            continue
        row, (one,) = rows_of.loc[pattern], count_instructions(path)
        assert one.inner is not None
        assert summary(one) == (row.n_insn, row.n_loops, row.n_innermost, row.max_depth, row.n_inner)
        assert (one.inner.n_memory, int(one.inner.vector_bits > 0)) == (row.mem_loads_inner, row.vectorized)
        assert one.inner.lanes == passes[pattern]
        checked += 1
    assert checked >= 5
