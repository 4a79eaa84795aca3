"""Functions of a disassembler's listing (``objdump -d``), GNU and LLVM, with and without raw bytes and relocations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.features.code.counts import FunctionCounts, function_counts
from mlperf.features.code.flow import Exit
from mlperf.features.code.placed import PlacedBranch, may_loop, placed_exits
from mlperf.features.code.processors.vocabulary import NOTHING, Dialect, InstructionCoder, Memo, Vocabulary
from mlperf.features.code.statements import without_comment

LOOK, RELOCATION = -1, -2

_HEADER = re.compile(r"([0-9a-f]+) <(.+)>:\s*$")
_SECTION = re.compile(r"Disassembly of section (\S+):")
# After the address and its colon: raw bytes or words where the listing has them, a tab, the instruction.
_INSTRUCTION = re.compile(r"(?:\s*(?:[0-9a-f]{2} )*[0-9a-f]{2}\s*|\s*[0-9a-f]{8} +|\s*)\t(?P<text>\S.*)")
_RAW = re.compile(r"(?:[0-9a-f]{2} ?)+\s*")  # bytes of a long instruction go on in a line of their own
_ADDRESS = re.compile(r"\s*[0-9a-fA-F]+\s*")
_OFFSET = re.compile(r"0x[0-9a-fA-F]+")
_RELOCATION = re.compile(r"\s+R_\w+")
_DATA = (
    *(".data", ".rodata", ".bss", ".eh_frame", ".debug", ".comment", ".note"),
    *(".dyn", ".rela", ".gnu", ".got", ".symtab", ".strtab"),
)
UNKNOWN = "<unknown>"  # an instruction that the disassembler was not told to know
_WORD = (".word", ".inst", ".byte", ".long", ".short", "(bad)", "...")


class ListingCoder(Memo):
    """Codes of what follows the colon of a listing's line: an instruction's number, 0, `LOOK` or `RELOCATION`."""

    def __init__(self, dialect: Dialect, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.comment = dialect.comment
        self.instructions = InstructionCoder(dialect, vocabulary)
        self.jumps: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        return self.remember(text, self.code_of(text))

    def code_of(self, text: str) -> int:
        """Code of a text met for the first time."""
        found = _INSTRUCTION.match(text)
        if found is None:
            if _RELOCATION.match(text):
                return RELOCATION
            return NOTHING if text[:1] == "\t" else LOOK
        return self.instruction_code(found["text"])

    def instruction_code(self, text: str) -> int:
        """Code of an instruction."""
        if _RELOCATION.match("\t" + text):
            return RELOCATION
        if text.startswith(_WORD) or _RAW.fullmatch(text):
            return NOTHING
        if text.startswith(UNKNOWN):
            text = "unknown"
        name, _, rest = text.partition("<")
        words = name.split()
        if rest and len(words) == 2 and words[0] in self.jumps:
            return self.jumps[words[0]]
        code = self.instructions.number(without_comment(text, self.comment).strip())
        if rest and len(words) == 2 and "*" not in name and "(" not in name and "[" not in name:
            self.jumps[words[0]] = code
        return code


@dataclass(slots=True)
class ListedFunction:
    """A function of a listing while it is being read."""

    name: str
    start: int
    codes: list[IntArray] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    branches: list[tuple[str, int, str, str]] = field(default_factory=list)
    relocated: list[int] = field(default_factory=list)
    n_lines: int = 0


class ListingReader:
    """Reads a listing in portions of whole lines and hands out functions as they end.

    Parameters
    ----------
    path : str
        For results.
    dialect : Dialect
        Architecture and syntax.
    with_loops : bool
        Whether to look for loops.
    """

    def __init__(self, path: str, dialect: Dialect, *, with_loops: bool) -> None:
        self.path = path
        self.dialect = dialect
        self.with_loops = with_loops
        self.vocabulary = Vocabulary()
        self.coder = ListingCoder(dialect, self.vocabulary)
        self.function: ListedFunction | None = None
        self.is_code = True

    def read(self, portions: Iterable[str]) -> Iterator[FunctionCounts]:
        """Every function, in the order of the listing."""
        for text in portions:
            yield from self.feed(text.split("\n"))
        yield from self.close()

    def feed(self, lines: list[str]) -> Iterator[FunctionCounts]:
        """Take in lines; hand out the functions that end in them."""
        parts = [line.partition(":") for line in lines]
        codes = np.fromiter(map(self.coder.__getitem__, map(itemgetter(2), parts)), dtype=np.int64, count=len(lines))
        marked = np.flatnonzero((codes < NOTHING) | (self.vocabulary.leaves[np.maximum(codes, NOTHING)] & self.with_loops))
        begin = 0
        for place, code in zip(marked.tolist(), codes[marked].tolist(), strict=True):
            if code > NOTHING:
                if self.function is not None:
                    self.function.branches.append((parts[place][0], code, parts[place][2], following(parts, codes, place)))
            elif code == RELOCATION:
                if self.function is not None:
                    self.function.relocated.append(self.address(parts[place][0], self.function))
            elif lines[place]:
                header, section = _HEADER.match(lines[place]), _SECTION.match(lines[place])
                if header or section:
                    self.take(parts, codes, begin, place)
                    begin = place
                    yield from self.close()
                if section:
                    self.is_code = not section[1].startswith(_DATA)
                elif header and self.is_code:
                    self.function = ListedFunction(header[2], int(header[1], 16))
        self.take(parts, codes, begin, len(lines))

    def take(self, parts: list[tuple[str, str, str]], codes: IntArray, begin: int, end: int) -> None:
        """Add the instructions of some lines to the open function."""
        if self.function is None:
            return
        within = codes[begin:end]
        self.function.codes.append(within[within > NOTHING])
        if self.with_loops:
            self.function.addresses += [parts[begin + place][0] for place in np.flatnonzero(within > NOTHING).tolist()]

    def close(self) -> Iterator[FunctionCounts]:
        """End the open function."""
        function, self.function = self.function, None
        if function is None:
            return
        codes = np.concatenate(function.codes) if function.codes else np.zeros(0, dtype=np.int64)
        codes = without_trap_padding(codes, self.vocabulary)
        exits = self.exits(function, len(codes)) if self.with_loops else None
        yield function_counts(self.path, function.name, self.dialect.architecture, codes, exits, self.vocabulary)

    def exits(self, function: ListedFunction, n: int) -> list[Exit]:
        """Where control leaves the straight line; nothing where no branch leads back."""
        branches = [self.placed(branch, function) for branch in function.branches]
        if not may_loop(branches):
            return []
        addresses = [self.address(address, function) for address in function.addresses[:n]]
        return placed_exits(function.start, addresses, branches, sorted(function.relocated), {})

    def placed(self, branch: tuple[str, int, str, str], function: ListedFunction) -> PlacedBranch:
        """A branch with its addresses as numbers."""
        address, code, text, after = branch
        flow = self.vocabulary[code].flow
        here = self.address(address, function)
        target = target_address(text, function.start, self.dialect.comment) if flow in ("jump", "branch") else None
        return PlacedBranch(here, flow, target, hexadecimal(after, here + 4))

    def address(self, text: str, function: ListedFunction) -> int:
        """The address before a line's colon; DataError: it is no hexadecimal number."""
        if _ADDRESS.fullmatch(text) is None:
            got = f"got {text[:40]!r} before an instruction, expected its address as a hexadecimal number"
            hint = "Give the output of objdump -d as it was written."
            raise DataError(got, place=f"{self.path}, function {function.name}", hint=hint)
        return int(text, 16)


def following(parts: list[tuple[str, str, str]], codes: IntArray, place: int) -> str:
    """Address of the line after an instruction, or just behind its relocation; empty at the end."""
    if place + 1 == len(parts):
        return ""
    after = parts[place + 1][0]
    if codes[place + 1] != RELOCATION:
        return after
    return f"{int(after, 16) + 1:x}" if _ADDRESS.fullmatch(after) else ""


def hexadecimal(text: str, default: int) -> int:
    """A hexadecimal number; ``default`` for other text."""
    try:
        return int(text, 16)
    except ValueError:
        return default


def target_address(text: str, start: int, mark: str) -> int | None:
    """Address that a branch leads to, printed as ``58``, ``0x58`` or ``<f+0x58>`` only; None where it is computed."""
    words = without_comment(text, mark).partition("<")
    last = words[0].replace(",", " ").split()
    if last:
        try:
            return int(last[-1], 16)
        except ValueError:
            pass
    offset = words[2].rpartition("+")[2].rstrip("> \t")
    return start + int(offset, 16) if _OFFSET.fullmatch(offset) else None


def without_trap_padding(codes: IntArray, vocabulary: Vocabulary) -> IntArray:
    """Instructions without the ``int3`` that fill the space up to the next function."""
    end = len(codes)
    while end > 1 and vocabulary[int(codes[end - 1])].mnemonic == "int3":
        end -= 1
    return codes[:end] if end and vocabulary[int(codes[end - 1])].flow in ("return", "jump") else codes
