"""ELF objects: what is refused, what is missing, which tables are found."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.features.code import count_instructions
from mlperf.features.code.elf import is_unknown_instruction, read_elf, vector_length
from mlperf.features.code.table import swc_o

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


def assembled(folder: Path, body: str) -> Path:
    compiler = shutil.which("gcc")
    if compiler is None or platform.machine() != "x86_64":
        pytest.skip("needs gcc for x86-64")
    source = folder / "k.s"
    source.write_text(f".text\n.globl f\n.type f,@function\nf:\n{body}ret\n.size f,.-f\n")
    subprocess.run([compiler, "-c", str(source), "-o", str(folder / "k.o")], check=True)
    return folder / "k.o"


def test_instructions_that_the_disassembler_does_not_know_are_counted_and_what_follows_is_read_in_step(tmp_path: Path) -> None:
    """Of AVX512-FP16 by their bytes: vaddph on registers, from 8 bytes after a place and with an index, vcmpph, vrndscaleph."""
    unknown = ("62,f5,74,48,58,c2", "62,f5,74,48,58,40,01", "62,f5,74,48,58,84,b7,00,01,00,00", "62,f5,7c,48,1d,05,00,00,00,00")
    body = "".join(".byte " + ",".join(f"0x{one}" for one in each.split(",")) + "\nadd $1, %eax\n" for each in unknown)
    (found,) = count_instructions(assembled(tmp_path, body))
    assert dict(found.total.mnemonics) == {"unknown": 4, "add": 4, "ret": 1}
    table = swc_o([tmp_path / "k.o"])
    assert table.frame[["cnt_unknown", "all_other", "n_insn"]].to_numpy().tolist() == [[4, 4, 9]]
    assert table.notes[0].startswith("4 instructions in 1 functions are not known to the disassembler")


def test_an_instruction_that_is_cut_off_is_named(tmp_path: Path) -> None:
    body = ".byte 0x62,0xf5,0x74,0x48,0x58,0x84,0xb7\n"
    with pytest.raises(DataError, match="got an instruction that capstone does not know, bytes 62 f5 74") as caught:
        count_instructions(assembled(tmp_path, body))
    assert "objdump -d FILE" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("code", "length"),
    [
        ("62 f5 74 48 58 c2", 6), ("62 f5 74 48 58 40 01", 7), ("62 f5 74 48 58 04 24", 7), ("62 f5 74 48 58 05 0 0 0 0", 10),
        ("62 f5 74 48 58 04 25 0 0 0 0", 11), ("62 f5 74 48 58 84 24 0 0 0 0", 11), ("62 f3 74 48 c2 c8 0d", 7),
        ("62 f1 7d 48 70 c0 1b", 7), ("62 f6 7d 48 42 c0", 6), ("c5 f8 77", 3), ("c5 f9 c5 c0 01", 5), ("c5 fb 58 c1", 4),
        ("c4 e2 71 a8 c2", 5), ("c4 e3 7d 19 c1 01", 6), ("c4 e7 78 f8 c0 0 0 0 0", None), ("62 f5 74 48 58", None),
    ],
)  # fmt: skip
def test_lengths_of_vector_instructions_as_objdump_has_them(code: str, length: int | None) -> None:
    content = bytes(int(one, 16) for one in code.split())
    assert vector_length(content + (b"\x90" * 4 if length else b"")) == length


@pytest.mark.parametrize(
    ("code", "is_unknown"),
    [
        (b"\x62\xf5\x74", True), (b"\x62\xf6\x7d", True), (b"\xc5\xf8\x77", True), (b"\xc4\xe2\x78", True),
        (b"\x62\xf8\x74", False), (b"\x62\xf5\x70", False), (b"\xc4\xe0\x78", False), (b"\x62", False), (b"\x06\x00\x00", False),
    ],
)  # fmt: skip
def test_first_bytes_of_vector_instructions(code: bytes, is_unknown: bool) -> None:
    assert is_unknown_instruction(code) == is_unknown
