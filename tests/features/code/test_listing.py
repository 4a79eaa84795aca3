"""Listings of objdump: forms of addresses, bytes and targets."""

from __future__ import annotations

import io

import pytest

from mlperf.core.errors import DataError
from mlperf.features.code import FunctionCounts
from mlperf.features.code.listing import target_address
from mlperf.features.code.read import read_text

HEAD = "\nk.o:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"


def functions(text: str) -> dict[str, FunctionCounts]:
    return {one.function: one for one in read_text(io.StringIO(HEAD + text), "k.txt")}


def loop_ranges(text: str) -> tuple[tuple[int, int], ...]:
    loops = functions(text)["f"].loops
    assert loops is not None
    return loops.innermost


FORMS = {
    "gnu": "0000000000000050 <f>:\n"
    "  50:\t01 d8                \tadd    %ebx,%eax\n  52:\tff c9                \tdec    %ecx\n"
    "  54:\t0f 1f 40 00          \tnopl   0x0(%rax)\n"
    "  58:\t75 f6                \tjne    {target}\n  5a:\tc3                   \tret\n",
    "gnu without bytes": "0000000000000050 <f>:\n  50:\tadd    %ebx,%eax\n  52:\tdec    %ecx\n  54:\tnopl   0x0(%rax)\n"
    "  58:\tjne    {target}\n  5a:\tret\n",
    "llvm": "0000000000000050 <f>:\n      50:      \taddl\t%ebx, %eax\n      52:      \tdecl\t%ecx\n      54:      \tnopl\t(%rax)\n"
    "      58:      \tjne\t{target}\n      5a:      \tretq\n",
    "llvm with bytes": "0000000000000050 <f>:\n      50: 01 d8                        \taddl\t%ebx, %eax\n"
    "      52: ff c9                        \tdecl\t%ecx\n      54: 0f 1f 40 00                  \tnopl\t(%rax)\n"
    "      58: 75 f6                        \tjne\t{target}\n      5a: c3                           \tretq\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", ["50 <f>", "0x50 <f>", "50", "<f+0x0>"])
def test_targets_are_hexadecimal_in_every_form(form: str, target: str) -> None:
    text = FORMS[form].format(target=target)
    assert dict(functions(text)["f"].total.mnemonics) == {"add": 1, "dec": 1, "jne": 1, "ret": 1}
    assert loop_ranges(text) == ((0, 3),)


def test_a_target_in_padding_is_the_next_instruction() -> None:
    assert loop_ranges(FORMS["gnu"].format(target="54 <f+0x4>")) == ((2, 3),)


def test_bytes_that_go_on_in_a_second_line_are_no_instruction() -> None:
    text = (
        "0000000000000000 <f>:\n   0:\t48 ba 15 7c 4a 7f b9 \tmovabs $0x9e3779b97f4a7c15,%rdx\n   7:\t79 37 9e \n"
        "   a:\tf2 0f 58 05 00 00 00 \taddsd  0x0(%rip),%xmm0        # 12 <f+0x12>\n  11:\t00 \n\t\t\te: R_X86_64_PC32\t.LC2-0x4\n"
        "  12:\tc3                   \tret\n"
    )
    assert dict(functions(text)["f"].total.mnemonics) == {"movabs": 1, "addsd": 1, "ret": 1}


def test_branches_that_the_linker_fills_in_leave_the_function() -> None:
    with_relocation = (
        "0000000000000000 <f>:\n   0:\t01 d8                \tadd    %ebx,%eax\n   2:\te9 f9 ff ff ff       \tjmp    0 <f>\n"
        "\t\t\t3: R_X86_64_PLT32\tg-0x4\n"
    )
    assert loop_ranges(with_relocation) == ()
    without = (
        "0000000000000000 <f>:\n   0:\tadd    eax,ebx\n   2:\tje     10 <f+0x10>\n   4:\tjmp    9 <f+0x9>\n"
        "   9:\tadd    ecx,ebx\n   b:\tjmp    2 <f+0x2>\n  10:\tret\n"
    )
    assert loop_ranges(without) == ()


def test_an_arm_branch_to_itself_without_relocation_leaves() -> None:
    text = "0000000000000000 <f>:\n   0:\tadd\tw0, w0, #0x1\n   4:\tb\t4 <f+0x4>\n"
    assert loop_ranges(text) == ()


def test_sections_with_data_and_padding_by_traps_are_left_out() -> None:
    text = (
        "0000000000000000 <f>:\n   0:\tret\n   1:\tint3\n   2:\tint3\n\nDisassembly of section .rodata:\n\n"
        "0000000000000000 <table>:\n   0:\tadd    %al,(%rax)\n"
    )
    found = functions(text + FORMS["gnu"].format(target="50").replace("<f>", "<g>"))
    assert set(found) == {"f"}
    assert found["f"].total.n_instructions == 1


def test_what_the_disassembler_does_not_know_is_counted_as_other() -> None:
    found = functions(
        "0000000000000000 <f>:\n       0:      \tadd\tw0, w0, #0x1\n       4:      \t<unknown>\n       8:      \tret\n"
    )["f"]
    assert dict(found.total.mnemonics) == {"add": 1, "unknown": 1, "ret": 1}
    assert found.total.kinds["other"] == 1


def test_names_of_functions_may_hold_anything() -> None:
    text = "0000000000000000 <ns::box<int>::get(int) const>:\n   0:\tadd    %ebx,%eax\n   2:\tret\n"
    assert set(functions(text)) == {"ns::box<int>::get(int) const"}


@pytest.mark.parametrize(
    ("text", "address"),
    [("\tjne    58 <f+0x58>", 0x58), ("\tjne\t0x58 <f+0x58>", 0x58), ("\ttbz\tw0, #3, 58 <f+0x8>", 0x58), ("\tjne <f+0x8>", 0x58),
     ("\tb.ls\tbc <f+0xbc>  // b.plast", 0xBC), ("\tjmp *%rax", None)],
)  # fmt: skip
def test_where_a_branch_leads(text: str, address: int | None) -> None:
    assert target_address(text, 0x50, "//") == address


@pytest.mark.parametrize("address", ["-1  0", "---25", "{{{", "5g", ""])
def test_an_address_that_is_no_hexadecimal_number_is_refused_with_its_function(address: str) -> None:
    """Whether it stands before an instruction of the loop, the branch that closes it, or a relocation."""
    text = FORMS["gnu"].format(target="50").replace("  52:", f"  {address}:", 1)
    for damaged in (text, text.replace("  58:", f"  {address}:"), text.replace("  5a:", f"  {address}:\tR_X86_64_PC32\tx\n  5a:")):
        with pytest.raises(DataError, match="expected its address as a hexadecimal number") as caught:
            functions(damaged)
        assert caught.value.place == "k.txt, function f"
