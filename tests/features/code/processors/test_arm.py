"""Preferred names of AArch64 instructions (Arm Architecture Reference Manual, alias conditions)."""

from __future__ import annotations

import pytest

from mlperf.features.code.processors.arm import Arm
from mlperf.features.code.processors.instruction import Instruction

ARM = Arm()


@pytest.mark.parametrize(
    ("text", "mnemonic"),
    [
        ("ble .L7", "b.le"),
        ("b.hs 344", "b.cs"),
        ("bcc .L2", "b.cc"),
        ("subs wzr, w0, #1", "cmp"),
        ("cmp w0, 1", "cmp"),
        ("ands xzr, x0, x1", "tst"),
        ("orr x0, xzr, x1", "mov"),
        ("orr v0.16b, v1.16b, v1.16b", "mov"),
        ("movz w0, #400", "mov"),
        ("mov w0, 400", "mov"),
        ("movk w0, 1, lsl 16", "movk"),
        ("uxtw x0, w1", "mov"),
        ("add x29, sp, 0", "mov"),
        ("add x29, sp, 16", "add"),
        ("madd w0, w1, w2, wzr", "mul"),
        ("msub w0, w1, w2, w3", "msub"),
        ("sub w0, wzr, w1", "neg"),
        ("csinc w0, wzr, wzr, ne", "cset"),
        ("csinc w0, w1, w1, ne", "cinc"),
        ("csinc w0, w1, w2, ne", "csinc"),
        ("dup s3, v1.s[1]", "mov"),
        ("dup v5.4s, v4.s[0]", "dup"),
        ("ins v2.s[1], v3.s[0]", "mov"),
        ("umov w0, v1.s[0]", "mov"),
        ("umov w0, v1.b[0]", "umov"),
        ("uxtl v2.8h, v0.8b", "ushll"),
        ("sxtl2 v1.2d, v1.4s", "sshll2"),
        ("ldur s0, [x2, #-4]", "ldr"),
        ("ldr s0, [x2, -4]", "ldr"),
        ("sturb w0, [x1, #-1]", "strb"),
        ("ubfx w0, w1, #8, #24", "lsr"),
        ("ubfx w0, w1, #8, #8", "ubfx"),
        ("sbfx x0, x1, #0, #32", "sxtw"),
        ("ubfiz x0, x1, 3, 61", "lsl"),
        ("extr w0, w1, w1, #4", "ror"),
        ("hint 25", "paciasp"),
        ("hint #0x7", "xpaclri"),
        ("not v0.16b, v1.16b", "mvn"),
    ],
)
def test_the_preferred_name(text: str, mnemonic: str) -> None:
    found = ARM.decode(text)
    assert found is not None
    assert found.mnemonic == mnemonic


@pytest.mark.parametrize("text", ["nop", "bti c", "hint #34"])
def test_padding_and_landing_pads_are_not_counted(text: str) -> None:
    assert ARM.decode(text) is None


def test_classes_and_lanes() -> None:
    assert ARM.decode("fmla v0.4s, v1.4s, v2.s[0]") == Instruction("fmla", "packed_fma", vector_bits=128, lanes=4)
    assert ARM.decode("fmul v0.2s, v1.2s, v2.2s") == Instruction("fmul", "packed_multiply", vector_bits=64, lanes=2)
    assert ARM.decode("fmadd s0, s1, s2, s0") == Instruction("fmadd", "scalar_fma", lanes=1)
    assert ARM.decode("ldp x0, x1, [sp]") == Instruction("ldp", "load", loads=1)
    assert ARM.decode("str q0, [x1], 16") == Instruction("str", "store", stores=1)
    assert ARM.decode("cbz x0, .L3") == Instruction("cbz", "branch", flow="branch")
    assert ARM.decode("br x16") == Instruction("br", "branch", flow="indirect")
    assert ARM.decode("add v0.4s, v0.4s, v1.4s") == Instruction("add", "packed_integer", vector_bits=128)
    assert ARM.decode("eor v0.16b, v0.16b, v1.16b") == Instruction("eor", "vector_logic")


def test_shapes_keep_what_decides() -> None:
    assert ARM.shape("csinc w0, w1, w1, ne") != ARM.shape("csinc w0, w1, w2, ne")
    assert ARM.shape("fmla v0.4s, v1.4s, v2.4s") != ARM.shape("fmla v0.2s, v1.2s, v2.2s")
    assert ARM.shape("ldr x1, [x2, #8]") == ARM.shape("ldr x3, [x4, #16]")
