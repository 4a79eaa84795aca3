"""Which functions an ELF file has, and where: symbol tables read as arrays, for large libraries have half a million symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

FIELDS = (("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"), ("size", "u8"))
"""A symbol of a 64-bit file."""
FUNCTION, CHOSEN_AT_START = 2, 10
"""Types of symbols that are functions; which machine code the second stands for is chosen as a program starts."""
RANKS = np.array([2, 0, 1] + [3] * 13)
"""Which of several names of an address counts, by binding: global, weak, local, others."""


@dataclass(slots=True)
class Section:
    """An executable section of an ELF file.

    Attributes
    ----------
    start : int
        Address of its first byte.
    code : bytes
        Content.
    functions : dict
        Address of each function to (name, bytes).
    relocated : list of int
        Addresses that the linker fills in.
    data : list of (int, int)
        Address ranges that hold data.
    """

    start: int
    code: bytes
    functions: dict[int, tuple[str, int]] = field(default_factory=dict)
    relocated: list[int] = field(default_factory=list)
    data: list[tuple[int, int]] = field(default_factory=list)


def add_functions(elf: Any, sections: Mapping[int, Section]) -> None:
    """Take in function symbols; of several names of one address the global one counts, then the first."""
    marks: dict[int, list[tuple[int, bool]]] = {}
    for kind in ("SHT_SYMTAB", "SHT_DYNSYM"):
        tables = [(symbols_of(elf, each), elf.get_section(each["sh_link"]).data()) for each in elf.iter_sections(kind)]
        if tables:
            _add(tables, sections, marks)
        if any(section.functions for section in sections.values()):
            break
    for number, section in sections.items():
        set_ends(section)
        set_data(section, sorted(marks.get(number, [])))


def symbols_of(elf: Any, table: Any) -> np.ndarray:
    """The symbols of a table, with `FIELDS`."""
    order = "<" if elf.little_endian else ">"
    kind = np.dtype([(name, order + of) for name, of in FIELDS])
    content = table.data()
    return np.frombuffer(content, dtype=kind, count=len(content) // kind.itemsize)


def _add(tables: list[tuple[np.ndarray, bytes]], sections: Mapping[int, Section], marks: dict[int, list[tuple[int, bool]]]) -> None:
    """Functions of tables of one kind, and symbols that say where data begins and where code."""
    numbers = np.array(sorted(sections))
    found: dict[tuple[int, int], tuple[int, str, int]] = {}
    for symbols, names in tables:
        symbols = symbols[np.isin(symbols["section"], numbers)]
        first = np.frombuffer(names, dtype=np.uint8)[np.minimum(symbols["name"], len(names) - 1)] if names else symbols["name"]
        for row in symbols[first == ord("$")].tolist():
            name = name_at(names, row[0]).partition(".")[0]
            if name in ("$x", "$d"):
                marks.setdefault(row[3], []).append((row[4], name == "$d"))
        symbols = symbols[np.isin(symbols["info"] & 0xF, (FUNCTION, CHOSEN_AT_START))]
        ranks = RANKS[symbols["info"] >> 4]
        for rank, (name_place, _, _, number, address, size) in zip(ranks.tolist(), symbols.tolist(), strict=True):
            if (number, address) not in found or rank < found[number, address][0]:
                found[number, address] = (rank, name_at(names, name_place), size)
    for (number, address), (_, name, size) in found.items():
        sections[number].functions[address] = (name, size)


def name_at(names: bytes, place: int) -> str:
    """The name that begins there and ends with a zero."""
    return names[place : names.find(b"\0", place)].decode("utf-8", "replace")


def set_ends(section: Section) -> None:
    """Functions without a size reach to the next one."""
    starts = [*sorted(section.functions), section.start + len(section.code)]
    for start, following in pairwise(starts):
        name, size = section.functions[start]
        section.functions[start] = (name, size or following - start)


def set_data(section: Section, marks: list[tuple[int, bool]]) -> None:
    """Ranges that mapping symbols call data."""
    ends = [*(address for address, _ in marks[1:]), section.start + len(section.code)]
    section.data = [(address, end) for (address, is_data), end in zip(marks, ends, strict=False) if is_data]
