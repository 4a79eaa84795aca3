"""One name for every spelling: what GNU and LLVM tools print for the same bytes (checked with GNU as, objdump, llvm-objdump)."""

from __future__ import annotations

import pytest

from mlperf.features.code.processors.instruction import Instruction
from mlperf.features.code.processors.x86 import X86

ATT, INTEL = X86("att"), X86("intel")


def name(text: str, dialect: X86) -> str | None:
    found = dialect.decode(text)
    return None if found is None else found.mnemonic


@pytest.mark.parametrize(
    ("mnemonic", "att", "intel"),
    [
        ("add", "addq %rax, %rbx", "add rbx, rax"),
        ("mul", "mulq %rbx", "mul rbx"),
        ("shl", "shll $3, %eax", "shl eax, 3"),
        ("shl", "sal %eax", "sal eax"),
        ("call", "callq foo", "call foo"),
        ("movsx", "movslq %eax, %rcx", "movsxd rcx, eax"),
        ("movsx", "movsbl %al, %eax", "movsx eax, al"),
        ("movzx", "movzwl %ax, %eax", "movzx eax, ax"),
        ("mov", "movl $5, (%rax)", "mov DWORD PTR [rax], 5"),
        ("mov", "movq $-1, %rax", "mov rax, -1"),
        ("mov", "mov $0xffffffffffffffff,%rax", "mov rax,0xffffffffffffffff"),
        ("movabs", "movabsq $78187493520, %rax", "movabs rax, 78187493520"),
        ("movabs", "movq $78187493520, %rax", "mov rax, 0x1234567890"),
        ("movq", "movq %rdi, %xmm0", "movq xmm0, rdi"),
        ("movq", "movd %rdi, %xmm0", "movq xmm0, rdi"),
        ("movd", "movd %edi, %xmm0", "movd xmm0, edi"),
        ("movs", "movsl", "movsd"),
        ("movs", "movsl %ds:(%rsi),%es:(%rdi)", "movs DWORD PTR es:[rdi],DWORD PTR ds:[rsi]"),
        ("movsd", "movsd %xmm0, %xmm1", "movsd xmm1, xmm0"),
        ("movsd", "movsd (%rax), %xmm1", "movsd xmm1, qword ptr [rax]"),
        ("stos", "rep stosq", "rep stosq qword ptr [rdi], rax"),
        ("stos", "rep stos %rax,%es:(%rdi)", "rep stos QWORD PTR es:[rdi],rax"),
        ("cmps", "repz cmpsb %es:(%rdi),%ds:(%rsi)", "repz cmps BYTE PTR ds:[rsi],BYTE PTR es:[rdi]"),
        ("cvtsi2sd", "cvtsi2sdq %rax, %xmm0", "cvtsi2sd xmm0, rax"),
        ("cvtsi2ss", "cvtsi2ssl -4(%rdi), %xmm1", "cvtsi2ss xmm1, DWORD PTR -4[rdi]"),
        ("vcvtpd2ps", "vcvtpd2psy (%rax), %xmm0", "vcvtpd2ps xmm0, YMMWORD PTR [rax]"),
        ("cmovl", "cmovll %eax, %ebx", "cmovl ebx, eax"),
        ("cmovb", "cmovnae %eax, %ebx", "cmovc ebx, eax"),
        ("setne", "setnz %al", "setne al"),
        ("setl", "setl %al", "setl al"),
        ("je", "jz .L3", "je .L3"),
        ("jae", "jnc .L3", "jnb .L3"),
        ("push", "pushq $5", "push 5"),
        ("cdqe", "cltq", "cdqe"),
        ("cqo", "cqto", "cqo"),
        ("cdq", "cltd", "cdq"),
        ("fld", "fldt (%rax)", "fld TBYTE PTR [rax]"),
        ("fstp", "fstpl (%rax)", "fstp QWORD PTR [rax]"),
        ("fild", "fildll (%rax)", "fild QWORD PTR [rax]"),
        ("fucomip", "fucompi %st(1), %st", "fucomip st, st(1)"),
        ("cmpltps", "cmpps $1, %xmm1, %xmm0", "cmpltps xmm0, xmm1"),
        ("vcmplt_oqps", "vcmpps $17, %ymm1, %ymm0, %ymm2", "vcmplt_oqps ymm2, ymm0, ymm1"),
        ("vpcmpltud", "vpcmpud $1, %zmm0, %zmm1, %k1", "vpcmpltud k1, zmm1, zmm0"),
        ("pclmulqdq", "pclmullqlqdq %xmm0, %xmm1", "pclmulqdq xmm1, xmm0, 0"),
        ("tzcnt", "rep bsfq %rax, %rbx", "tzcnt rbx, rax"),
        ("pause", "rep nop", "pause"),
        ("add", "lock addl $1, (%rax)", "lock add DWORD PTR [rax], 1"),
        ("jmp", "notrack jmp *%rax", "notrack jmp rax"),
        ("ret", "repz retq", "ret"),
        ("prefetchw", "prefetchw (%rax)", "prefetchw BYTE PTR [rax]"),
        ("cmpxchg16b", "cmpxchg16b (%rax)", "cmpxchg16b XMMWORD PTR [rax]"),
    ],
)  # fmt: skip
def test_both_syntaxes_give_one_name(mnemonic: str, att: str, intel: str) -> None:
    assert name(att, ATT) == name(intel, INTEL) == mnemonic


@pytest.mark.parametrize(
    "text", ["nop", "nopw 0x0(%rax,%rax,1)", "data16 cs nopw 0x0(%rax,%rax,1)", "xchg %ax,%ax", "endbr64", "lock"]
)
def test_padding_and_lone_prefixes_are_not_counted(text: str) -> None:
    assert ATT.decode(text) is None


def test_padding_in_intel_syntax_is_not_counted() -> None:
    assert INTEL.decode("nop WORD PTR [rax+rax*1+0x0]") is None
    assert INTEL.decode("xchg ax,ax") is None


def test_memory_operands_classes_and_widths() -> None:
    assert ATT.decode("movups (%rax), %xmm0") == Instruction("movups", "load", loads=1)
    assert ATT.decode("movups %xmm0, (%rax)") == Instruction("movups", "store", stores=1)
    assert ATT.decode("movaps %xmm0, %xmm1") == Instruction("movaps", "move")
    assert ATT.decode("addl $1, (%rax)") == Instruction("add", "integer", loads=1, stores=1)
    assert ATT.decode("cmpl %eax, (%rbx)") == Instruction("cmp", "compare", loads=1)
    assert ATT.decode("leaq 4(%rax), %rbx") == Instruction("lea", "address")
    assert ATT.decode("mulps B(%rip), %xmm0") == Instruction("mulps", "packed_multiply", loads=1, vector_bits=128, lanes=4)
    assert INTEL.decode("vfmadd231pd ymm0, ymm1, YMMWORD PTR [rax]") == Instruction(
        "vfmadd231pd", "packed_fma", loads=1, vector_bits=256, lanes=4
    )
    assert INTEL.decode("mulss xmm0, xmm1") == Instruction("mulss", "scalar_multiply", lanes=1)
    assert INTEL.decode("vpermilps ymm0, ymm1, 5") == Instruction("vpermilps", "shuffle")
    assert INTEL.decode("frobnicate eax") == Instruction("frobnicate", "other")


@pytest.mark.parametrize(
    ("text", "flow"),
    [("jmp .L3", "jump"), ("jmp *%rax", "indirect"), ("jmp *.L4(,%rax,8)", "indirect"), ("jne .L3", "branch"),
     ("loop 1b", "branch"), ("ret", "return"), ("ud2", "return"), ("call *%rax", ""), ("addl %eax, %ebx", "")],
)  # fmt: skip
def test_how_control_goes_on(text: str, flow: str) -> None:
    found = ATT.decode(text)
    assert found is not None
    assert found.flow == flow


@pytest.mark.parametrize(
    ("first", "second"),
    [("vfmadd132ps %ymm0, %ymm1, %ymm2", "vfmadd213ps %ymm0, %ymm1, %ymm2"), ("movq $5, %rax", "movq $78187493520, %rax"),
     ("cmpps $1, %xmm0, %xmm1", "cmpps $2, %xmm0, %xmm1"), ("lock cmpxchg8b (%rax)", "lock cmpxchg16b (%rax)")],
)  # fmt: skip
def test_texts_of_different_instructions_have_different_shapes(first: str, second: str) -> None:
    assert ATT.shape(first) != ATT.shape(second)


def test_texts_that_differ_in_registers_and_addresses_share_a_shape() -> None:
    assert ATT.shape("addss 4(%r8), %xmm1") == ATT.shape("addss 400(%r9), %xmm15")
