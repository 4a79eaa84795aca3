"""ELF objects: what is refused, what is missing, which tables are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.features.code import count_instructions
from mlperf.features.code.elf import read_elf

OBJECT = Path(__file__).parents[2] / "reference" / "assembly" / "gcc12_O2" / "misc_a.o"


def test_a_damaged_object_is_bad_data(tmp_path: Path) -> None:
    (tmp_path / "x.o").write_bytes(b"\x7fELF" + bytes(60))
    with pytest.raises(DataError, match="not an ELF file"):
        count_instructions(tmp_path / "x.o")


def test_a_truncated_object_is_bad_data(tmp_path: Path) -> None:
    (tmp_path / "x.o").write_bytes(OBJECT.read_bytes()[:900])
    with pytest.raises(DataError, match="not an ELF file"):
        count_instructions(tmp_path / "x.o")


def test_another_machine_is_named() -> None:
    content = bytearray(OBJECT.read_bytes())
    content[18:20] = (243).to_bytes(2, "little")  # e_machine: RISC-V
    with pytest.raises(DataError, match="EM_RISCV, expected EM_X86_64 or EM_AARCH64"):
        list(read_elf(bytes(content), "x.o"))


def test_missing_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("capstone", "elftools")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "elftools", None)
    with pytest.raises(MissingExtraError, match="elftools") as caught:
        count_instructions(OBJECT)
    assert "asm" in str(caught.value)


def test_text_needs_neither_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("capstone", "elftools"):
        monkeypatch.setitem(sys.modules, name, None)
    assert len(count_instructions(OBJECT.with_suffix(".s"))) == 11


def test_offsets_and_sizes_that_lead_anywhere_are_bad_data() -> None:
    """Every eight bytes of the section headers, which hold addresses, offsets and sizes, set to the largest number."""
    content = OBJECT.read_bytes()
    start = int.from_bytes(content[40:48], "little")
    refused = 0
    for place in range(start, len(content) - 8, 8):
        damaged = content[:place] + b"\xff" * 8 + content[place + 8 :]
        try:
            list(read_elf(damaged, "x.o"))
        except DataError as error:
            refused += "not an ELF file, or a damaged one" in error.message or "function symbols" in error.message
    assert refused > 20
