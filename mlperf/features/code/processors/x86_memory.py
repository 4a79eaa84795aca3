"""Memory operands of x86-64 instructions."""

from __future__ import annotations

import re

from mlperf.features.code.processors.x86_names import STRING_MEMORY

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
