"""Tables of addresses that computed jumps of an object file go through, from its relocations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ABSOLUTE = {"EM_X86_64": (1, 10, 11), "EM_AARCH64": (257, 258)}  # R_X86_64_64, _32, _32S; R_AARCH64_ABS64, _ABS32
RELATIVE = {"EM_X86_64": (2,), "EM_AARCH64": (260, 261)}  # R_X86_64_PC32; R_AARCH64_PREL64, _PREL32


def jump_tables(elf: Any, code: int) -> dict[int, list[int]]:
    """Tables whose entries all lead into one executable section.

    Parameters
    ----------
    elf : pyelftools ELFFile
        An object file; linked programs have no relocations left, and no table is found.
    code : int
        Number of the executable section.

    Returns
    -------
    dict
        A number that orders the tables as they lie in the file, to the addresses in the table.
    """
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
