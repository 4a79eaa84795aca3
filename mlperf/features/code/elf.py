"""Functions of ELF objects and programs, disassembled with capstone."""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.core.extras import require
from mlperf.features.code.counts import FunctionCounts, function_counts
from mlperf.features.code.cpp_names import asked_for
from mlperf.features.code.elf_functions import Section, add_functions
from mlperf.features.code.listing import without_trap_padding
from mlperf.features.code.placed import PlacedBranch, may_loop, placed_exits
from mlperf.features.code.processors.arm import Arm
from mlperf.features.code.processors.vocabulary import NOTHING, Dialect, Vocabulary
from mlperf.features.code.processors.x86 import X86

ABSOLUTE = {"EM_X86_64": (1, 10, 11), "EM_AARCH64": (257, 258)}  # R_X86_64_64, _32, _32S; R_AARCH64_ABS64, _ABS32
RELATIVE = {"EM_X86_64": (2,), "EM_AARCH64": (260, 261)}  # R_X86_64_PC32; R_AARCH64_PREL64, _PREL32


def _jump_tables(elf: Any, code: int) -> dict[int, list[int]]:
    """Tables of an object file whose entries all lead into the section ``code``: a number that orders them, to their addresses."""
    bases = referenced_places(elf, code)
    tables: dict[int, list[int]] = {}
    for number, section in enumerate(elf.iter_sections()):
        if section["sh_type"] == "SHT_RELA" and is_read_only_data(elf.get_section(section["sh_info"])):
            for table in section_tables(elf, section, code, bases.get(section["sh_info"], set())):
                tables[(number << 32) + len(tables)] = table
    return tables


def is_read_only_data(section: Any) -> bool:
    """Whether a section may hold tables of addresses."""
    return section is not None and section.name.startswith((".rodata", ".data.rel.ro", ".lrodata"))


def referenced_places(elf: Any, code: int) -> dict[int, set[int]]:
    """Offsets in other sections that code refers to, by section: tables begin there."""
    found: dict[int, set[int]] = {}
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_RELA" or section["sh_info"] != code:
            continue
        symbols = elf.get_section(section["sh_link"])
        for entry in section.iter_relocations():
            symbol = symbols.get_symbol(entry["r_info_sym"])
            place = symbol["st_value"] + entry["r_addend"]
            # A displacement counts from the end of its instruction, four bytes on.
            relative = entry["r_info_type"] in RELATIVE.get(elf.header["e_machine"], ())
            found.setdefault(symbol["st_shndx"], set()).add(place + 4 if relative else place)
    return found


def section_tables(elf: Any, relocations: Any, code: int, bases: set[int]) -> Iterator[list[int]]:
    """Tables of one section: entries side by side that lead into the code, divided where another table begins."""
    machine = elf.header["e_machine"]
    symbols = elf.get_section(relocations["sh_link"])
    table: list[int] = []
    begin, expected = 0, -1
    for entry in sorted(relocations.iter_relocations(), key=lambda entry: entry["r_offset"]):
        symbol = symbols.get_symbol(entry["r_info_sym"])
        relative = entry["r_info_type"] in RELATIVE[machine]
        place = entry["r_offset"]
        is_entry = symbol["st_shndx"] == code and (relative or entry["r_info_type"] in ABSOLUTE[machine])
        if not is_entry or place != expected or place in bases:
            if table:
                yield table
            table, begin = [], place
        if is_entry:
            distance = place - begin if relative else 0
            table.append(symbol["st_value"] + entry["r_addend"] - distance)
            expected = place + (4 if relative or entry["r_info_type"] in (10, 11, 258) else 8)
    if table:
        yield table


# First bytes of vector instructions with these prefixes, in 64-bit code.
EVEX, VEX_3, VEX_2 = 0x62, 0xC4, 0xC5
VZEROUPPER = 0x77
WITH_CONSTANT = (0x70, 0x71, 0x72, 0x73, 0xC2, 0xC4, 0xC5, 0xC6)
"""Opcodes of map 1 (0F) that a constant follows."""
UNKNOWN = "unknown"
"""What listings of LLVM call an instruction that it was not told to know, too."""
EXECUTABLE = 0x4
# ELF machine: our dialect, capstone's architecture (two names: it was renamed) and mode.
MACHINES: Mapping[str, tuple[Dialect, tuple[str, ...], str]] = {
    "EM_X86_64": (X86("intel"), ("CS_ARCH_X86",), "CS_MODE_64"),
    "EM_AARCH64": (Arm(), ("CS_ARCH_ARM64", "CS_ARCH_AARCH64"), "CS_MODE_ARM"),
}


def read_elf(content: bytes, path: str, *, with_loops: bool = True, functions: Collection[str] = ()) -> Iterator[FunctionCounts]:
    """Counts of every function of an ELF file.

    Parameters
    ----------
    content : bytes
        The file.
    path : str
        For messages and results.
    with_loops : bool
        Whether to look for loops.
    functions : collection of str
        Names to disassemble, of C++ as they are written or as symbols; none: all.

    Raises
    ------
    DataError
        Not an ELF file of x86-64 or AArch64, or one without function symbols.
    MissingExtraError
        capstone or pyelftools is not installed.
    """
    errors = require("elftools.common.exceptions", "asm")
    try:
        elf = require("elftools.elf.elffile", "asm").ELFFile(io.BytesIO(content))
        yield from functions_of(elf, path, with_loops=with_loops, functions=functions)
    except DataError:
        raise
    except (errors.ELFError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, struct.error) as error:
        # Offsets, sizes and numbers of sections in a damaged file lead anywhere.
        hint = "Give an object file, a program or assembler text."
        raise DataError(f"not an ELF file, or a damaged one: {error}", place=path, hint=hint) from error


def functions_of(elf: Any, path: str, *, with_loops: bool, functions: Collection[str] = ()) -> Iterator[FunctionCounts]:
    """Yield the functions of a file that pyelftools has opened."""
    machine = elf.header["e_machine"]
    if machine not in MACHINES:
        raise DataError(
            f"got machine {machine}, expected {' or '.join(MACHINES)}", place=path, hint="Compile for x86-64 or AArch64."
        )
    dialect, names, mode = MACHINES[machine]
    capstone = require("capstone", "asm")
    architecture = next(getattr(capstone, name) for name in names if hasattr(capstone, name))
    engine = capstone.Cs(architecture, getattr(capstone, mode))
    engine.skipdata = True
    sections = _code_sections(elf, path)
    vocabulary = Vocabulary()
    memo: dict[tuple[str, str], int] = {}
    is_asked_for = asked_for(functions)
    for number, section in sections.items():
        wanted = sorted((start, *named) for start, named in section.functions.items() if is_asked_for(named[0]))
        tables = _jump_tables(elf, number) if with_loops and wanted else {}
        for start, name, size in wanted:
            reader = FunctionReader(engine, dialect, vocabulary, memo, section, tables)
            yield reader.counts(path, name, start, size, with_loops=with_loops)


def _code_sections(elf: Any, path: str) -> dict[int, Section]:
    """Executable sections by number, with their functions and relocations."""
    sections = {
        number: Section(section["sh_addr"], section.data())
        for number, section in enumerate(elf.iter_sections())
        if section["sh_flags"] & EXECUTABLE and section["sh_type"] == "SHT_PROGBITS"
    }
    add_functions(elf, sections)
    if not any(section.functions for section in sections.values()):
        raise DataError("got no function symbols, expected some", place=path, hint="Give a file that was not stripped.")
    for section in elf.iter_sections():
        target = sections.get(section["sh_info"]) if section["sh_type"] in ("SHT_RELA", "SHT_REL") else None
        if target is not None:
            target.relocated = sorted(entry["r_offset"] for entry in section.iter_relocations())
    return sections


@dataclass(slots=True)
class FunctionReader:
    """Disassembles functions of one section."""

    engine: Any
    dialect: Dialect
    vocabulary: Vocabulary
    memo: dict[tuple[str, str], int]
    section: Section
    tables: Mapping[int, list[int]]

    def counts(self, path: str, name: str, start: int, size: int, *, with_loops: bool) -> FunctionCounts:
        """Counts of the function at an address."""
        codes, addresses, branches = [], [], []
        begin = start - self.section.start
        for address, length, mnemonic, operands in self.decoded(begin, begin + size, f"{path}, {name}"):
            code = self.code(mnemonic, operands)
            if code == NOTHING or self.is_data(address):
                continue
            codes.append(code)
            addresses.append(address)
            flow = self.vocabulary[code].flow
            if flow:
                target = jump_target(operands) if flow in ("jump", "branch") else None
                branches.append(PlacedBranch(address, flow, target, address + length))
        numbers = without_trap_padding(np.array(codes, dtype=np.int64), self.vocabulary)
        exits = None
        if with_loops:
            tables = self.function_tables(branches, start, start + size)
            exits = (
                placed_exits(start, addresses[: len(numbers)], branches, self.section.relocated, tables)
                if may_loop(branches)
                else []
            )
        return function_counts(path, name, self.dialect.architecture, numbers, exits, self.vocabulary)

    def decoded(self, begin: int, end: int, place: str) -> Iterator[tuple[int, int, str, str]]:
        """Address, length, mnemonic and operands of what lies between two offsets of the section.

        A vector instruction of x86-64 that capstone does not know is ``unknown`` and has the length that its bytes tell: what
        follows is read in step.

        Raises
        ------
        DataError
            There is one whose length its bytes do not tell, after which others would be read askew.
        """
        code, first = self.section.code, self.section.start
        while begin < end:
            for address, length, mnemonic, operands in self.engine.disasm_lite(code[begin:end], first + begin):
                at = address - first
                if mnemonic == ".byte" and self.dialect.architecture == "x86-64" and is_unknown_instruction(code[at : at + 3]):
                    told = 0 if self.is_data(address) else vector_length(code[at:end])
                    if told is None:
                        raise DataError(
                            f"got an instruction that capstone does not know, bytes {code[at : at + 3].hex(' ')}, "
                            "expected those of its version",
                            place=f"{place} at {address:#x}",
                            hint="Give a listing in place of the file, objdump -d FILE > listing.txt, or name other functions.",
                        )
                    if told:
                        yield address, told, UNKNOWN, ""
                        begin = at + told
                        break
                yield address, length, mnemonic, operands
            else:
                return

    def is_data(self, address: int) -> bool:
        """Whether a table of the file lies there."""
        return any(low <= address < high for low, high in self.section.data)

    def code(self, mnemonic: str, operands: str) -> int:
        """Number of an instruction as capstone prints it."""
        known = self.memo.get((mnemonic, operands))
        if known is None:
            is_data = mnemonic in (".byte", "(bad)")
            known = NOTHING if is_data else self.vocabulary.number(self.dialect.decode(f"{mnemonic} {operands}".strip()))
            self.memo[mnemonic, operands] = known
        return known

    def function_tables(self, branches: list[PlacedBranch], start: int, stop: int) -> dict[int, list[int]]:
        """Addresses that each computed jump of a function may lead to."""
        own = [targets for _, targets in sorted(self.tables.items()) if all(start <= target < stop for target in targets)]
        jumps = [branch.address for branch in branches if branch.flow == "indirect"]
        if len(own) == len(jumps):
            return dict(zip(jumps, own, strict=True))
        every = [target for targets in own for target in targets]
        return dict.fromkeys(jumps, every)


def is_unknown_instruction(code: bytes) -> bool:
    """Whether bytes that are not decoded begin a vector instruction of x86-64 (EVEX, VEX), after which others are read askew."""
    begin = code.ljust(3, b"\0")
    if begin[0] == EVEX:
        return not begin[1] & 0x08 and begin[1] & 0x07 in (1, 2, 3, 5, 6) and bool(begin[2] & 0x04)
    return begin[0] == VEX_2 or (begin[0] == VEX_3 and 1 <= begin[1] & 0x1F <= 7)


def vector_length(code: bytes) -> int | None:
    """Bytes of the vector instruction of x86-64 (EVEX, VEX) that some begin with; None where they do not tell.

    Prefix, opcode, the operands' byte, what that asks for, and a constant of one byte in map 3 and of some opcodes of map 1.

    References
    ----------
    Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, sections 2.1, 2.3 and 2.7.
    """
    prefix, of_map = {EVEX: (4, code[1] & 7), VEX_2: (2, 1), VEX_3: (3, code[1] & 0x1F)}[code[0]]
    operands = prefix + 1
    if of_map not in (1, 2, 3, 5, 6) or len(code) <= operands:
        return None
    opcode, modes = code[prefix], code[operands]
    if of_map == 1 and opcode == VZEROUPPER and code[0] != EVEX:
        return operands
    length, mode, base = operands + 1, modes >> 6, modes & 7
    if mode != 3 and base == 4:
        if len(code) <= length:
            return None
        base = code[length] & 7
        length += 1
    if mode != 3:
        length += {0: 4 if base == 5 else 0, 1: 1, 2: 4}[mode]
    length += of_map == 3 or (of_map == 1 and opcode in WITH_CONSTANT)
    return length if length <= len(code) else None


def jump_target(operands: str) -> int | None:
    """Address that a direct branch leads to."""
    try:
        return int(operands.rpartition(",")[2].strip().lstrip("#"), 16)
    except ValueError:
        return None
