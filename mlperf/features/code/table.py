"""The columns of SWC-O: one row a function."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.features.code.counts import FunctionCounts, Tally
from mlperf.features.code.cpp_names import asked_for
from mlperf.features.code.elf import UNKNOWN
from mlperf.features.code.processors.instruction import CLASSES
from mlperf.features.code.read import count_instructions
from mlperf.features.network.base import KEY, FeatureColumn, FeatureTable, check_keys_once

Cell = tuple[FeatureColumn, float]
KEYS = ("function", "file", "file:function")
PACKED = ("packed_add", "packed_multiply", "packed_fma")


def swc_o(
    paths: Sequence[Path | str],
    *,
    functions: Sequence[str] = (),
    key: str = "function",
    loops: bool = True,
    syntax: str | None = None,
) -> FeatureTable:
    """Static instruction counts of compiled kernels (SWC-O).

    Parameters
    ----------
    paths : sequence of path
        Assembler source, listings of objdump, ELF objects.
    functions : sequence of str
        Functions to keep; none: all.
    key : str
        What names a row: ``"function"``, ``"file"`` (one function in each file) or ``"file:function"``. Files are called by
        their name up to the first dot; by more of it, and of their path, where two would be called the same.
    loops : bool
        Whether to count the innermost loops besides the whole function.
    syntax : str, optional
        As `count_instructions`.

    Raises
    ------
    DataError
        As `count_instructions`; or two rows of one name, or a function that no file has.
    """
    found = [one for path in paths for one in numbered(count_instructions(path, loops=loops, functions=functions, syntax=syntax))]
    check_functions(functions, {one.function for one in found}, paths)
    inputs = {str(path): hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths}
    return count_features(found, key=key, inputs=inputs)


def check_functions(functions: Sequence[str], found: Collection[str], paths: Sequence[Path | str]) -> None:
    """Refuse a function that no file has: it would be missing without a word."""
    for name in functions:
        if not any(map(asked_for((name,)), found)):
            hint = f"Found were {', '.join(sorted(found))}: check the spelling."
            raise DataError(f"got no function {name}, expected it here", place=", ".join(map(str, paths)), hint=hint)


def numbered(counts: Sequence[FunctionCounts]) -> Iterator[FunctionCounts]:
    """Functions of one file; local ones of several sources may share a name: the second is ``name#2``, in the file's order."""
    met: Counter[str] = Counter()
    for one in counts:
        met[one.function] += 1
        n = met[one.function]
        yield one if n == 1 else dataclasses.replace(one, function=f"{one.function}#{n}")


def count_features(
    counts: Sequence[FunctionCounts], *, key: str = "function", inputs: dict[str, str] | None = None
) -> FeatureTable:
    """Columns of functions that have been counted; see `swc_o`."""
    if key not in KEYS:
        raise UsageError(f"got key {key!r}, expected one of {', '.join(KEYS)}", hint=nearest_hint(key, KEYS))
    names = row_names(counts, key)
    check_keys_once(names, [f"{one.file}, function {one.function}" for one in counts])
    rows = [dict(function_cells(one)) for one in counts]
    columns = tuple(sorted({column for row in rows for column in row}, key=column_order))
    cells = {column.name: [row.get(column, 0.0) for row in rows] for column in columns}
    frame = pd.DataFrame({KEY: names, **cells})
    whole = [column.name for column in columns if column.name != "inner_per_lane"]
    frame = frame.astype(dict.fromkeys(whole, "int64"))
    notes = tuple(f"{one.function} ({one.file}): {', '.join(one.flags)}" for one in counts if one.flags)
    return FeatureTable("swc-o", frame, columns, dict(inputs or {}), (*unknown_instructions(counts), *notes))


def unknown_instructions(counts: Sequence[FunctionCounts]) -> tuple[str, ...]:
    """A sentence on instructions that the disassembler does not know, where there are some."""
    unknown = [one.total.mnemonics[UNKNOWN] for one in counts if UNKNOWN in one.total.mnemonics]
    if not unknown:
        return ()
    told = f"{sum(unknown)} instructions in {len(unknown)} functions are not known to the disassembler"
    return (f"{told}: they are counted as {UNKNOWN} and as other; a listing of a newer one (objdump -d) tells what they are",)


def row_names(counts: Sequence[FunctionCounts], key: str) -> list[str]:
    """Names of the functions' rows; a file's name is cut at its first dot, unless rows of two files would then share a name.

    Such files are called by their whole name, where that is not enough by as many folders before it as tell them apart.
    """
    detail = {one.file: 0 for one in counts}
    while True:
        names = [_row_name(one, key, detail[one.file]) for one in counts]
        files: dict[str, set[str]] = {}
        for name, one in zip(names, counts, strict=True):
            files.setdefault(name, set()).add(one.file)
        shared = {file for own in files.values() if len(own) > 1 for file in own}
        longer = [file for file in shared if key != "function" and detail[file] < len(Path(file).parts)]
        if not longer:
            return names
        for file in longer:
            detail[file] += 1


def _row_name(counts: FunctionCounts, key: str, detail: int) -> str:
    """``detail`` is 0 for the file's name up to its first dot, else how many of the last parts of its path are shown."""
    path = Path(counts.file)
    label = "/".join(path.parts[-detail:]) if detail else path.name.partition(".")[0]
    return {"function": counts.function, "file": label, "file:function": f"{label}:{counts.function}"}[key]


def column_order(column: FeatureColumn) -> tuple[int, str]:
    """Summaries as listed first, then classes and mnemonics of the whole function and of the loops, by name."""
    if column.name in SUMMARY:
        return 0, f"{SUMMARY.index(column.name):03d}"
    return STEMS.index(column.name.partition("_")[0]), column.name


STEMS = ("", "cnt", "all", "in", "inner")


SUMMARY = (
    "n_insn", "n_loops", "n_innermost", "max_depth", "n_inner", "vectorized", "mem_loads_inner", "loads", "stores", "loads_inner",
    "stores_inner", "vector_bits", "vector_bits_inner", "lanes_inner", "inner_per_lane", "indirect", "irreducible",
)  # fmt: skip


def function_cells(counts: FunctionCounts) -> Iterator[Cell]:
    """Every column of one function with its value."""
    source = f"{counts.architecture} instructions"
    total = counts.total
    yield cell("n_insn", total.n_instructions, source, "instructions of the function, padding left out")
    yield cell("loads", total.loads, source, "memory operands read")
    yield cell("stores", total.stores, source, "memory operands written")
    yield cell("vector_bits", total.vector_bits, source, "widest vectors of packed arithmetic", "bits")
    yield from mnemonic_cells(total, "cnt", source, "in the function")
    yield from class_cells(total, "all", source, "in the function")
    if counts.inner is not None and counts.loops is not None:
        yield from loop_cells(counts, counts.inner, source)


def loop_cells(counts: FunctionCounts, inner: Tally, source: str) -> Iterator[Cell]:
    """Columns of the innermost loops."""
    loops = counts.loops
    if loops is None:
        return
    yield cell("n_loops", loops.n_loops, source, "natural loops")
    yield cell("n_innermost", loops.n_innermost, source, "loops without a loop inside")
    yield cell("max_depth", loops.max_depth, source, "greatest number of loops around an instruction")
    yield cell("n_inner", inner.n_instructions, source, "instructions of the innermost loops of greatest depth")
    yield cell(
        "vectorized", any(inner.kinds.get(kind) for kind in PACKED), source, "1 where those loops multiply or add in vectors"
    )
    yield cell("mem_loads_inner", inner.n_memory, source, "their instructions with a memory operand")
    yield cell("loads_inner", inner.loads, source, "memory operands they read")
    yield cell("stores_inner", inner.stores, source, "memory operands they write")
    yield cell("vector_bits_inner", inner.vector_bits, source, "widest vectors of their packed arithmetic", "bits")
    yield cell("lanes_inner", inner.lanes, source, "floating-point multiplications of one pass through them")
    per_lane = inner.n_instructions / inner.lanes if inner.lanes else 0.0
    yield cell("inner_per_lane", per_lane, source, "their instructions per multiplication; 0 without")
    yield cell("indirect", "indirect" in counts.flags, source, "1 where the function jumps to addresses that are not known here")
    yield cell("irreducible", "irreducible" in counts.flags, source, "1 where a cycle is no natural loop")
    yield from mnemonic_cells(inner, "in", source, "in its innermost loops")
    yield from class_cells(inner, "inner", source, "in its innermost loops")


def cell(name: str, value: float, source: str, doc: str, unit: str = "1") -> Cell:
    """A column and its value."""
    return FeatureColumn(name, unit, source, doc), float(value)


def mnemonic_cells(tally: Tally, stem: str, source: str, where: str) -> Iterator[Cell]:
    """One column for each mnemonic that occurs."""
    for mnemonic, count in tally.mnemonics.items():
        yield cell(f"{stem}_{mnemonic.replace('.', '_')}", count, source, f"{mnemonic} {where}")


def class_cells(tally: Tally, stem: str, source: str, where: str) -> Iterator[Cell]:
    """One column for each class, those that do not occur included."""
    for kind in CLASSES:
        yield cell(f"{stem}_{kind}", tally.kinds.get(kind, 0), source, f"instructions of class {kind} {where}")
