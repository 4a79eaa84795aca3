"""x86-64 instructions from their text, in AT&T and Intel syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from mlperf.features.code.processors.instruction import Instruction, split_operands
from mlperf.features.code.processors.x86_classes import multiply_lanes, register_bits, x86_class
from mlperf.features.code.processors.x86_names import (
    ALIASES,
    CONDITIONS,
    INTEGER_PREDICATES,
    NARROWING,
    NOT_COUNTED,
    PREDICATES,
    PREFIXES,
    SIZED,
    SIZES,
    STRING_MEMORY,
    STRINGS,
    X87_REVERSED,
    X87_SIZED,
    X87_SIZES,
)

_SEGMENT = re.compile(r"(?:cs|ds|es|fs|gs|ss):")
# Names that do not touch what their operand addresses.
NO_ACCESS = ("lea", "prefetch", "nop", "clflush", "clwb", "cldemote", "invlpg", "j", "call", "loop", "lcall", "ljmp")
# A memory destination that is written without being read, and one that is read only.
WRITES = (
    "mov", "vmov", "set", "extract", "vextract", "pextr", "vpextr", "vscatter", "vpscatter", "fst", "fnst", "fist", "vcvtps2ph",
    "vcompress", "vpcompress", "vpmov", "maskmov", "vmaskmov", "vpmaskmov", "stmxcsr", "vstmxcsr", "fnstcw", "kmov", "fbstp",
)  # fmt: skip
READS = (
    "cmp", "test", "push", "mul", "imul", "div", "idiv", "fld", "fild", "fadd", "fsub", "fmul", "fdiv", "fcom", "fiadd", "fisub",
    "fimul", "fidiv", "ficom", "ucom", "comi", "vucom", "vcomi", "ptest", "vptest", "vtest", "ldmxcsr", "vldmxcsr", "fnldcw",
)  # fmt: skip
EXCHANGES = frozenset({"xchg", "xadd", "cmpxchg", "cmpxchg8b", "cmpxchg16b"})
READ_BITS = frozenset({"bt"})


def is_memory(operand: str, syntax: str) -> bool:
    """Whether an operand addresses memory."""
    if syntax == "intel":
        word = operand.lower()
        return "[" in word or "ptr" in word or "bcst" in word or _SEGMENT.match(word) is not None
    if operand.startswith("%"):
        return ":" in operand
    return not operand.startswith(("$", "{", "*%")) and operand != ""


def memory_use(mnemonic: str, operands: list[str], syntax: str) -> tuple[int, int]:
    """Memory operands that an instruction reads and writes."""
    if mnemonic in STRING_MEMORY:
        return STRING_MEMORY[mnemonic]
    if mnemonic.startswith(NO_ACCESS):
        return 0, 0
    memory = [place for place, operand in enumerate(operands) if is_memory(operand, syntax)]
    if not memory:
        return 0, 0
    if mnemonic in EXCHANGES:
        return 1, 1
    target = len(operands) - 1 if syntax == "att" else 0
    if target not in memory:
        return 1, 0
    if mnemonic.startswith(READS) or mnemonic in READ_BITS:
        return 1, 0
    return (0, 1) if mnemonic.startswith(WRITES) or mnemonic == "pop" else (1, 1)


_COMPARE = re.compile(r"(v?)cmp(p[sdh]|s[sdh])")
_INTEGER_COMPARE = re.compile(r"vpcmp(u?[bwdq])")
_WIDE_REGISTER = re.compile(r"%?r(?:[abcd]x|[sd]i|[sb]p|\d+)")
NO_DIGITS = str.maketrans("", "", "0123456789")
_VECTOR = re.compile(r"[xyz]?mm\d")
CONDITIONAL = frozenset([*(f"j{condition}" for condition in CONDITIONS), "jrcxz", "loop", "loope", "loopne"])
REPEATS = frozenset({"rep", "repe", "repz"})
REPEATED = MappingProxyType({"bsf": "tzcnt", "bsr": "lzcnt", "nop": "pause"})  # the prefix makes another instruction
RETURNS = frozenset({"ret", "lret", "iret", "ud2", "ud1", "ud0", "sysret", "sysexit"})


@dataclass(frozen=True, slots=True)
class X86:
    """Reads x86-64 instructions of one syntax, ``"att"`` or ``"intel"``."""

    syntax: str
    comment: str = "#"

    @property
    def architecture(self) -> str:
        """Name of the architecture."""
        return "x86-64"

    def decode(self, text: str) -> Instruction | None:
        """The instruction that a text without comment stands for; None for padding and landing pads."""
        name, rest, prefixes = split_prefixes(text)
        if name in NOT_COUNTED:
            return None
        operands = split_operands(rest)
        mnemonic = self.canonical(name, operands)
        if prefixes & REPEATS and mnemonic in REPEATED:
            mnemonic = REPEATED[mnemonic]
        if mnemonic == "nop":
            return None
        if mnemonic == "xchg" and operands in (["%ax", "%ax"], ["ax", "ax"]):
            return None
        loads, stores = memory_use(mnemonic, operands, self.syntax)
        kind = x86_class(mnemonic, loads, stores)
        bits = register_bits(operands) if kind.startswith("packed") else 0
        return Instruction(
            mnemonic, kind, flow_of(mnemonic, operands), loads, stores, bits, multiply_lanes(mnemonic, kind, operands)
        )

    def shape(self, text: str) -> str:
        """Text without digits in its operands, except where an immediate decides about the name."""
        name, *rest = text.split(None, 1) or [""]
        if not rest or name in PREFIXES:
            return text
        if "mov" in name or "cmp" in name:
            has_number = "$" in rest[0] if self.syntax == "att" else rest[0].rpartition(",")[2].lstrip()[:1] in "-0123456789"
            if has_number:
                return text
        return f"{name} {rest[0].translate(NO_DIGITS)}"

    def canonical(self, name: str, operands: list[str]) -> str:
        """One name for all spellings."""
        if name in STRINGS and not (name in ("movsd", "cmpsd") and any("mm" in operand for operand in operands)):
            return STRINGS[name]
        if self.syntax == "att":
            name = att_name(name, operands)
        name = ALIASES.get(name, name)
        if name in ("mov", "movd", "vmovd"):
            return renamed_move(name, operands)
        return with_predicate(name, operands) if "cmp" in name else name


def split_prefixes(text: str) -> tuple[str, str, set[str]]:
    """First word that is no prefix, the rest, and the prefixes."""
    prefixes: set[str] = set()
    parts = text.split(None, 1)
    while parts:
        name = parts[0].lower().partition(",")[0]
        rest = parts[1].strip() if len(parts) > 1 else ""
        if name not in PREFIXES and not name.startswith("{"):
            return name, rest, prefixes
        prefixes.add(name)
        parts = rest.split(None, 1)
    return "", "", prefixes


def att_name(name: str, operands: list[str]) -> str:
    """An AT&T mnemonic without its operand size."""
    if name in ALIASES:
        return name
    if name[:-1] in SIZED and name[-1] in SIZES and name not in SIZED:
        is_vector = name == "movq" and any(_VECTOR.search(operand) for operand in operands)
        return name if is_vector else name[:-1]
    if name[0] == "f":
        return x87_name(name, operands)
    return name[:-1] if name[:-1] in NARROWING and name[-1] in "xyz" else name


def x87_name(name: str, operands: list[str]) -> str:
    """An AT&T mnemonic of the x87 unit in Intel's words."""
    if name in X87_REVERSED and (not operands or operands[-1] != "%st") and "(%r" not in "".join(operands):
        is_memory = operands and not operands[-1].startswith("%st")
        return name if is_memory else X87_REVERSED[name]
    size = next((size for size in X87_SIZES if name.endswith(size) and name.removesuffix(size) in X87_SIZED), "")
    return name.removesuffix(size) if operands and not operands[0].startswith("%st") else name


def renamed_move(name: str, operands: list[str]) -> str:
    """Moves whose name depends on the operands: 64-bit ``movd`` is ``movq``, a 64-bit immediate makes ``movabs``."""
    wide = [operand for operand in operands if _WIDE_REGISTER.fullmatch(operand)]
    if name != "mov":
        return name.replace("movd", "movq") if wide else name
    if wide and len(operands) == 2:
        value = immediate(operands[0] if operands[1] in wide else operands[1])
        if value is not None and not -(2**31) <= value < 2**31:
            return "movabs"
    return name


def immediate(operand: str) -> int | None:
    """An immediate operand as a signed 64-bit number; None for everything else."""
    try:
        value = int(operand.removeprefix("$"), 0)
    except ValueError:
        return None
    return value - 2**64 if value >= 2**63 else value


def with_predicate(name: str, operands: list[str]) -> str:
    """A compare with its predicate in the name, as in ``cmpltps``, where it is spelled as an immediate."""
    floating, integer = _COMPARE.fullmatch(name), _INTEGER_COMPARE.fullmatch(name)
    if not operands or not (floating or integer):
        return name
    numbers = [value for value in (immediate(operands[0]), immediate(operands[-1])) if value is not None]
    predicates = PREDICATES if floating else INTEGER_PREDICATES
    if not numbers or not 0 <= numbers[0] < len(predicates):
        return name
    predicate = predicates[numbers[0]]
    return f"{floating[1]}cmp{predicate}{floating[2]}" if floating else f"vpcmp{predicate}{name[5:]}"


def flow_of(mnemonic: str, operands: list[str]) -> str:
    """How an instruction hands on control."""
    if mnemonic in CONDITIONAL:
        return "branch"
    if mnemonic in RETURNS:
        return "return"
    if mnemonic not in ("jmp", "ljmp"):
        return ""
    target = operands[-1] if operands else ""
    return "indirect" if is_indirect(target) else "jump"


def is_indirect(target: str) -> bool:
    """Whether a jump's operand is a register or memory."""
    word = target.lower()
    return target.startswith("*") or "[" in word or "ptr" in word or _WIDE_REGISTER.fullmatch(word) is not None
