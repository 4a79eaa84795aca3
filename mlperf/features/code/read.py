"""Instruction counts of files: assembler source, disassembler listings, ELF objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean, nearest_hint
from mlperf.features.code.counts import FunctionCounts
from mlperf.features.code.cpp_names import asked_for, written_name
from mlperf.features.code.elf import read_elf
from mlperf.features.code.listing import ListingReader
from mlperf.features.code.processors.arm import Arm
from mlperf.features.code.processors.vocabulary import Dialect
from mlperf.features.code.processors.x86 import X86
from mlperf.features.code.source_text import SourceReader

PORTION = 1 << 22
_LISTING = re.compile(r"file format |^Disassembly of section ", re.MULTILINE)
_ARM = re.compile(
    r"aarch64|\.arch\s+armv[89]|%function|\b(?:ldr|str|ldp|stp|adrp|cbn?z|fmadd|fmla|movk|b\.[a-z]{2})\s|\b[wx](?:[12]?\d|30|zr)\b,"
)
_ATT = re.compile(r"%(?:[re]?[abcd]x|[re]?[sd]i|[re]?[sb]p|r\d+[dwb]?|[xyz]mm\d+|[abcd][lh]|rip|st)\b")
_INTEL = re.compile(
    r"\.intel_syntax|\bptr \[|\b(?:QWORD|DWORD|XMMWORD|BYTE) PTR|\b(?:r[abcd]x|r[sd]i|[xy]mm\d+|e[abcd]x),", re.IGNORECASE
)
DIALECTS: Mapping[str, Dialect] = {"att": X86("att"), "intel": X86("intel"), "arm": Arm()}


def count_instructions(
    path: Path | str, *, loops: bool = True, functions: Sequence[str] = (), syntax: str | None = None
) -> tuple[FunctionCounts, ...]:
    """Static instruction counts of every function of a file.

    Parameters
    ----------
    path : path
        Assembler source (``.s``), a listing of ``objdump -d`` (GNU or LLVM), or an ELF object or program; distinguished by
        content.
    loops : bool
        Whether to find loops and count their innermost ones.
    functions : sequence of str
        Names to keep; none: all. Of C++ a symbol, or the name as it is written, without parameters (``picture::scale``): then every
        function of that name.
    syntax : str, optional
        ``"att"``, ``"intel"`` or ``"arm"`` where the text does not show it.

    Raises
    ------
    DataError
        No such file, no function in it, a macro left in source text, text of an unknown syntax; names the place.
    UsageError
        An unknown syntax.
    MissingExtraError
        An ELF file needs capstone and pyelftools.
    """
    every = iterate_functions(path, loops=loops, syntax=syntax, functions=functions)
    is_asked_for = asked_for(functions)
    found = tuple(one for one in every if is_asked_for(one.function))
    if not found:
        known = [written_name(one.function) for one in iterate_functions(path, loops=False, syntax=syntax)]
        wanted = f"function {' or '.join(functions)}" if functions else "function"
        hint = did_you_mean(functions[0], known) if functions else "Give assembler text, objdump -d output or an ELF object."
        raise DataError(f"got no {wanted}, expected at least one", place=str(path), hint=hint)
    return found


def iterate_functions(
    path: Path | str, *, loops: bool = True, syntax: str | None = None, functions: Sequence[str] = ()
) -> Iterator[FunctionCounts]:
    """Yield what `count_instructions` counts, one function after the other, without keeping the file in memory.

    Of an ELF file only ``functions`` are disassembled, where they are named; text is read whole.
    """
    path = Path(path)
    if syntax is not None and syntax not in DIALECTS:
        raise UsageError(f"got syntax {syntax!r}, expected one of {', '.join(DIALECTS)}", hint=nearest_hint(syntax, DIALECTS))
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
        if magic == b"\x7fELF":
            yield from read_elf(path.read_bytes(), str(path), with_loops=loops, functions=functions)
            return
        with path.open(encoding="utf-8", errors="replace") as text:
            yield from read_text(text, str(path), with_loops=loops, syntax=syntax)
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", place=str(path), hint="Check the path and its permissions.") from error


def read_text(stream: TextIO, path: str, *, with_loops: bool = True, syntax: str | None = None) -> Iterator[FunctionCounts]:
    """Counts of every function of assembler source or of a listing."""
    portions = whole_lines(stream)
    head = next(portions, "")
    dialect = DIALECTS[syntax] if syntax else _detect_dialect(head, path)

    def everything() -> Iterator[str]:
        yield head
        yield from portions

    if _LISTING.search(head[:4096]):
        yield from ListingReader(path, dialect, with_loops=with_loops).read(everything())
    else:
        yield from SourceReader(path, dialect, with_loops=with_loops, head=head).read(everything())


def whole_lines(stream: TextIO, size: int = PORTION) -> Iterator[str]:
    """Portions of a text that end with a line's end, the last one perhaps not."""
    rest = ""
    while text := stream.read(size):
        end = text.rfind("\n") + 1
        if end:
            yield rest + text[:end]
            rest = text[end:]
        else:
            rest += text
    if rest:
        yield rest


def _detect_dialect(head: str, path: str) -> Dialect:
    """Architecture and syntax from how registers are written; DataError: the beginning of the text shows none."""
    sample = head[:200_000]
    scores = {name: len(pattern.findall(sample)) for name, pattern in (("arm", _ARM), ("att", _ATT), ("intel", _INTEL))}
    best = max(scores, key=lambda name: scores[name])
    if not scores[best] and ("@function" in sample or "x86-64" in sample):
        best = "att"
    elif not head.strip():
        raise DataError("is empty, expected assembler text, a listing or an object", place=path, hint="Did the compiler end well?")
    elif not scores[best]:
        raise DataError("got text without registers of x86-64 or AArch64", place=path, hint="Name the syntax: att, intel or arm.")
    return DIALECTS[best]
