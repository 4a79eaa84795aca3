"""What stands between the instructions of assembler source, and must not be taken for one."""

from __future__ import annotations

import io

import pytest

from mlperf.core.errors import DataError
from mlperf.features.code import FunctionCounts
from mlperf.features.code.read import count_instructions, read_text, whole_lines

HEAD = "\t.text\n\t.globl f\n\t.type f, @function\nf:\n"
TAIL = "\tret\n\t.size f, .-f\n"


def functions(text: str, **options: object) -> dict[str, FunctionCounts]:
    return {one.function: one for one in read_text(io.StringIO(text), "f.s", **options)}  # type: ignore[arg-type]


def total(body: str) -> dict[str, int]:
    return dict(functions(HEAD + body + TAIL)["f"].total.mnemonics)


@pytest.mark.parametrize(
    "noise",
    [
        "\t# addl %eax, %ebx\n",
        "\t/* addl %eax, %ebx\n\taddl %ecx, %edx */\n",
        '\t.string "addl %eax, %ebx; addl %eax, %ebx # x"\n',
        "\t.p2align 4,,10\n",
        ".LFB0:\n\t.cfi_startproc\n",
        "\tnopw 0x0(%rax,%rax,1)\n\tendbr64\n",
        '\t.section .rodata\n.LC0:\n\t.ascii "mov eax, 1"\n\t.long 5\n\t.text\n',
        "\tx = 5\n\t.set y, 6\n",
        "\t#APP\n\t#NO_APP\n",
        "\t.pushsection .note\n\t.long 7\n\t.popsection\n",
        "\n \t \n;\n",
    ],
)
def test_noise_counts_nothing(noise: str) -> None:
    assert total("\taddl %eax, %ebx\n" + noise + "\tsubl %eax, %ebx\n") == {"add": 1, "sub": 1, "ret": 1}


def test_several_statements_and_labels_share_a_line() -> None:
    assert total("a: addl %eax, %ebx; subl %eax, %ebx ; .p2align 3; rep; stosq # x ; y\n") == {
        "add": 1, "sub": 1, "stos": 1, "ret": 1,
    }  # fmt: skip


def test_a_comment_after_an_instruction_is_not_an_operand() -> None:
    assert total("\tmovsd (%rax), %xmm0 # movs\n\tje .L9 # .L8\n.L9:\n") == {"movsd": 1, "je": 1, "ret": 1}


def test_numeric_labels_lead_to_the_nearest_one() -> None:
    body = "1:\taddl $1, %eax\n\tjne 1b\n\tje 1f\n\tnop\n\tsubl %eax, %eax\n1:\tincl %ecx\n\tjne 1b\n"
    loops = functions(HEAD + body + TAIL)["f"].loops
    assert loops is not None
    assert (loops.n_loops, loops.innermost) == (2, ((0, 2), (4, 6)))


def test_code_behind_a_change_of_section_belongs_to_the_same_function() -> None:
    body = "\taddl %eax, %ebx\n\t.section .rodata\n.L4:\n\t.quad .L5\n\t.text\n.L5:\n\tsubl %eax, %ebx\n"
    assert total(body) == {"add": 1, "sub": 1, "ret": 1}


def test_a_cold_part_is_a_function_of_its_own() -> None:
    text = (
        HEAD + "\ttestl %eax, %eax\n\tjs .L9\n\tret\n\t.section .text.unlikely\n\t.type f.cold, @function\nf.cold:\n.L9:\n"
        "\tcall abort\n\t.text\n\t.size f, .-f\n\t.section .text.unlikely\n\t.size f.cold, .-f.cold\n"
    )
    found = functions(text)
    assert {name: one.total.n_instructions for name, one in found.items()} == {"f": 3, "f.cold": 1}
    assert found["f"].loops is not None
    assert found["f"].loops.n_loops == 0


def test_a_jump_table_is_followed_wherever_it_stands() -> None:
    body = (
        "\tjmp .L2\n.L7:\n\taddl $1, %eax\n\tjmp .L2\n.L8:\n\tsubl $1, %eax\n.L2:\n\tdecl %edi\n\tje .L9\n\tjmp *.L4(,%rdi,8)\n"
        "\t.section .rodata\n.L4:\n\t.quad .L7\n\t.quad .L8\n\t.text\n.L9:\n"
    )
    found = functions(HEAD + body + TAIL)["f"]
    assert found.flags == ()
    assert found.loops is not None
    assert found.inner is not None
    assert (found.loops.n_loops, found.inner.n_instructions) == (1, 6)


def test_a_computed_jump_without_table_is_flagged() -> None:
    assert functions(HEAD + "\tjmp *%rax\n" + TAIL)["f"].flags == ("indirect",)


def test_a_jump_to_another_function_or_to_a_global_name_leaves() -> None:
    body = "\taddl %eax, %ebx\n\tjne g\n\tjmp f\n"
    loops = functions(HEAD + body + TAIL)["f"].loops
    assert loops is not None
    assert loops.n_loops == 0


def test_source_may_change_its_syntax() -> None:
    body = "\tmovslq %eax, %rcx\n\t.intel_syntax noprefix\n\tmovsx rcx, eax\n\t.att_syntax\n\tmovslq %eax, %rdx\n"
    assert total(body) == {"movsx": 3, "ret": 1}


def test_labels_begin_functions_where_nothing_is_declared() -> None:
    text = "f:\n\taddl %eax, %ebx\n\tret\ng:\n\tret\n"
    assert {name: one.total.n_instructions for name, one in functions(text).items()} == {"f": 2, "g": 1}
    text = "\t.globl f\nf:\n\taddl %eax, %ebx\nloop:\n\tdecl %eax\n\tjne loop\n\tret\n"
    (one,) = functions(text).values()
    assert one.loops is not None
    assert one.loops.innermost == ((1, 3),)


@pytest.mark.parametrize("line", ["\t.macro add2 x\n", "\t.rept 4\n", "\t.irp x, 1, 2\n"])
def test_macros_are_refused_with_their_line(line: str) -> None:
    with pytest.raises(DataError, match=r"expected source without macros") as caught:
        functions(HEAD + line + "\taddl %eax, %ebx\n\t.endr\n" + TAIL)
    assert caught.value.place == "f.s, line 5"


def test_portions_end_with_lines_and_change_nothing() -> None:
    text = HEAD + "".join(f"\taddl %eax, {number}(%rbx)\n.L{number}:\n\tjne .L{number}\n" for number in range(40)) + TAIL
    assert "".join(whole_lines(io.StringIO(text), 7)) == text
    assert all(portion.endswith("\n") for portion in whole_lines(io.StringIO(text), 50))
    assert total("")["ret"] == 1


def test_text_without_registers_asks_for_the_syntax() -> None:
    with pytest.raises(DataError, match="is empty"):
        list(read_text(io.StringIO("\n"), "k.s"))
    with pytest.raises(DataError, match="without registers"):
        functions("once upon a time\n")
    assert functions("f:\n\tret\n", syntax="att")["f"].total.n_instructions == 1


def test_files_that_cannot_be_read_or_hold_no_function(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    with pytest.raises(DataError, match="No such file"):
        count_instructions(folder / "none.s")
    (folder / "f.s").write_text(HEAD + "\taddl %eax, %ebx\n" + TAIL)
    with pytest.raises(DataError, match="got no function ff"):
        count_instructions(folder / "f.s", functions=["ff"])
    (folder / "x.s").write_text("\taddl %eax, %ebx\n")
    with pytest.raises(DataError, match="got no function, expected at least one"):
        count_instructions(folder / "x.s")
