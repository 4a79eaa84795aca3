"""Symbol tables of real objects, against pyelftools' own reading symbol by symbol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from mlperf.features.code.elf_functions import FIELDS, Section, add_functions, name_at, set_data, set_ends, symbols_of

ASSEMBLY = Path(__file__).parents[2] / "reference" / "assembly"
OBJECTS = sorted(ASSEMBLY.glob("*/*.o"))


@pytest.fixture(params=OBJECTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def elf(request: pytest.FixtureRequest) -> Iterator[ELFFile]:
    with request.param.open("rb") as stream:
        yield ELFFile(stream)


def test_there_are_objects() -> None:
    assert len(OBJECTS) > 3


def test_symbols_are_those_of_pyelftools(elf: ELFFile) -> None:
    (table,) = elf.iter_sections("SHT_SYMTAB")
    found = symbols_of(elf, table)
    names = elf.get_section(table["sh_link"]).data()
    every = list(table.iter_symbols())
    assert len(found) == len(every) > 3
    for mine, theirs in zip(found, every, strict=True):
        assert (mine["value"], mine["size"]) == (theirs["st_value"], theirs["st_size"])
        if theirs["st_info"]["type"] != "STT_SECTION":
            assert name_at(names, int(mine["name"])) == theirs.name
    assert set(found.dtype.names or ()) == {name for name, _ in FIELDS}


def test_functions_of_sections(elf: ELFFile) -> None:
    sections = {number: Section(0, each.data()) for number, each in enumerate(elf.iter_sections()) if each["sh_flags"] & 4}
    add_functions(elf, sections)
    (table,) = elf.iter_sections("SHT_SYMTAB")
    wanted = {
        (each["st_shndx"], each["st_value"], each.name, each["st_size"])
        for each in table.iter_symbols()
        if each["st_info"]["type"] == "STT_FUNC" and each["st_shndx"] in sections
    }
    found = {(number, at, *named) for number, section in sections.items() for at, named in section.functions.items()}
    assert found
    assert found <= wanted
    assert {each[:2] for each in found} == {each[:2] for each in wanted}


class Table:
    """A section of a made file."""

    def __init__(self, content: bytes, link: int = 0) -> None:
        self.content, self.link = content, link

    def data(self) -> bytes:
        return self.content

    def __getitem__(self, _name: str) -> int:
        return self.link


class Elf:
    """A made file with one symbol table and its names."""

    little_endian = True

    def __init__(self, symbols: list[tuple[str, int, int, int, int]]) -> None:
        names, rows = b"\0", []
        for name, info, section, value, size in symbols:
            rows.append((len(names), info, 0, section, value, size))
            names += name.encode() + b"\0"
        self.names = Table(names)
        self.table = Table(np.array(rows, dtype=[(name, "<" + kind) for name, kind in FIELDS]).tobytes())

    def iter_sections(self, kind: str) -> list[Table]:
        return [self.table] if kind == "SHT_SYMTAB" else []

    def get_section(self, _number: int) -> Table:
        return self.names


GLOBAL, WEAK, LOCAL, UNIQUE = (each << 4 | 2 for each in (1, 2, 0, 10))


def test_of_several_names_of_an_address_the_global_one_counts() -> None:
    symbols = [("local", LOCAL, 1, 8, 4), ("odd", UNIQUE, 1, 8, 4), ("weak", WEAK, 1, 8, 4), ("all", GLOBAL, 1, 8, 4)]
    section = Section(0, bytes(16))
    add_functions(
        Elf([*symbols, ("later", GLOBAL, 1, 8, 4), ("elsewhere", GLOBAL, 2, 8, 4), ("datum", 0x11, 1, 4, 4)]), {1: section}
    )
    assert section.functions == {8: ("all", 4)}


def test_ends_and_data() -> None:
    symbols = [("f", GLOBAL, 1, 4, 0), ("g", GLOBAL, 1, 12, 0), ("$d.1", 0, 1, 8, 0), ("$x", 0, 1, 12, 0), ("$other", 0, 1, 0, 0)]
    section = Section(4, bytes(16))
    add_functions(Elf(symbols), {1: section})
    assert section.functions == {4: ("f", 8), 12: ("g", 8)}
    assert section.data == [(8, 12)]
    set_ends(section)
    set_data(section, [])
    assert section.data == []
