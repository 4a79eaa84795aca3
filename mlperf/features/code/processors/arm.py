"""AArch64 instructions from their text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mlperf.features.code.processors.arm_classes import arm_class, arm_memory, packed_lanes, packed_width
from mlperf.features.code.processors.arm_names import ALIASES, FIELDS, HINTS, NEGATED, NOT_COUNTED, SAME_SELECT, WITH_ZERO, ZERO
from mlperf.features.code.processors.instruction import Instruction, split_operands

NO_DIGITS = str.maketrans("", "", "0123456789")
_DIGITS_MATTER = re.compile(r"\bv\d|\bsp\b|^(?:[us]bf|cs|extr|hint)")
_ELEMENT = re.compile(r"v\d+\.(?:\d*)([bhsd])\[\d+\]")
BRANCHES = frozenset({"cbz", "cbnz", "tbz", "tbnz"})
RETURNS = frozenset({"ret", "retaa", "retab", "eret", "brk", "udf"})
INDIRECT = frozenset({"br", "braa", "brab", "braaz", "brabz"})


@dataclass(frozen=True, slots=True)
class Arm:
    """A reader of AArch64 instructions."""

    comment: str = "//"

    def shape(self, text: str) -> str:
        """Text without digits in its operands, except where they distinguish vectors or fields, or equal registers."""
        name, *rest = text.split(None, 1)
        return text if not rest or _DIGITS_MATTER.search(text) else f"{name} {rest[0].translate(NO_DIGITS)}"

    @property
    def architecture(self) -> str:
        """Name of the architecture."""
        return "aarch64"

    @property
    def syntax(self) -> str:
        """There is one syntax only."""
        return "arm"

    def decode(self, text: str) -> Instruction | None:
        """The instruction that a text without comment stands for; None for padding and landing pads."""
        name, *rest = text.split(None, 1)
        name = name.lower()
        operands = split_operands(rest[0]) if rest else []
        if name == "hint" and operands:
            name = HINTS.get(int(operands[0].removeprefix("#"), 0), name)
        if name in NOT_COUNTED:
            return None
        mnemonic = preferred(ALIASES.get(name, name), operands)
        loads, stores = arm_memory(mnemonic)
        kind = arm_class(mnemonic, operands)
        bits = packed_width(operands) if kind.startswith("packed") else 0
        return Instruction(mnemonic, kind, flow_of(mnemonic), loads, stores, bits, packed_lanes(kind, operands))


def preferred(name: str, operands: list[str]) -> str:
    """The name that disassemblers choose for these operands."""
    words = [operand.lower() for operand in operands]
    if name in WITH_ZERO:
        place, other = WITH_ZERO[name]
        if len(words) > place and words[place] in ZERO:
            return other
        if name in NEGATED and len(words) > 1 and words[1] in ZERO:
            return NEGATED[name]
    if name in SAME_SELECT and len(words) == 4 and words[1] == words[2]:
        return SAME_SELECT[name][words[1] in ZERO]
    if name in ("dup", "umov"):
        return element_move(name, words)
    if name == "orr" and len(words) == 3 and words[0].startswith("v") and words[1] == words[2]:
        return "mov"
    if name == "add" and len(words) == 3 and "sp" in words[:2] and words[2] in ("0", "#0", "#0x0"):
        return "mov"
    if name in FIELDS and len(words) == 4:
        return field_name(name, words)
    return "ror" if name == "extr" and len(words) == 4 and words[1] == words[2] else name


def element_move(name: str, words: list[str]) -> str:
    """``dup`` and ``umov`` of one element are moves where source and target have one size."""
    found = _ELEMENT.fullmatch(words[-1]) if words else None
    if found is None:
        return name
    if name == "dup":
        return "mov" if words[0][0] in "bhsd" else name
    return "mov" if (words[0][0], found[1]) in (("w", "s"), ("x", "d")) else name


def field_name(name: str, words: list[str]) -> str:
    """Preferred name of a bit-field move."""
    try:
        low, width = (int(word.removeprefix("#"), 0) for word in words[2:])
    except ValueError:
        return name
    whole, extended = FIELDS[name]
    if low + width == (64 if words[0].startswith("x") else 32):
        return whole if low or name == "ubfiz" else name
    return extended.get(width, name) if low == 0 and name != "ubfiz" and not (name == "ubfx" and words[0].startswith("x")) else name


def flow_of(mnemonic: str) -> str:
    """How an instruction hands on control."""
    if mnemonic == "b":
        return "jump"
    if mnemonic.startswith("b.") or mnemonic in BRANCHES:
        return "branch"
    if mnemonic in RETURNS:
        return "return"
    return "indirect" if mnemonic in INDIRECT else ""
