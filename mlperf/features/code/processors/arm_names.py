"""One name for every AArch64 mnemonic, whichever assembler wrote it: tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NOT_COUNTED = frozenset({"nop", "bti", ""})

CONDITIONS = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv")
_SAME_CONDITION = {"hs": "cs", "lo": "cc"}
ALIASES: Mapping[str, str] = MappingProxyType(
    {f"b{condition}": f"b.{condition}" for condition in CONDITIONS}
    | {f"b{alias}": f"b.{name}" for alias, name in _SAME_CONDITION.items()}
    | {f"b.{alias}": f"b.{name}" for alias, name in _SAME_CONDITION.items()}
    | {"b.none": "b.eq", "b.any": "b.ne", "b.nlast": "b.cs", "b.last": "b.cc", "b.first": "b.mi", "b.nfrst": "b.pl"}
    | {"movz": "mov", "movn": "mov", "ins": "mov", "uxtw": "mov", "not": "mvn"}
    | {"uxtl": "ushll", "uxtl2": "ushll2", "sxtl": "sshll", "sxtl2": "sshll2"}
    | {"lslv": "lsl", "lsrv": "lsr", "asrv": "asr", "rorv": "ror"}
    # Offsets that do not fit the scaled form: the assembler chooses, the source often writes the plain name.
    | {f"{stem}u{rest}": stem + rest for stem, rest in (("ld", "r"), ("st", "r"))}
    | {"ldurb": "ldrb", "ldurh": "ldrh", "ldursb": "ldrsb", "ldursh": "ldrsh", "ldursw": "ldrsw", "sturb": "strb", "sturh": "strh"}
    | {"prfum": "prfm"}
)

# Instructions that older processors skip are written by number where the assembler must not know their names.
HINTS: Mapping[int, str] = MappingProxyType(
    {
        0: "nop", 1: "yield", 2: "wfe", 3: "wfi", 4: "sev", 5: "sevl", 7: "xpaclri", 16: "esb", 20: "csdb", 25: "paciasp",
        27: "pacibsp", 29: "autiasp", 31: "autibsp", 32: "bti", 34: "bti", 36: "bti", 38: "bti",
    }
)  # fmt: skip

ZERO = frozenset({"xzr", "wzr"})
# A zero register in these places (counted from 0) makes the preferred name another one.
WITH_ZERO: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "subs": (0, "cmp"),
        "adds": (0, "cmn"),
        "ands": (0, "tst"),
        "sub": (1, "neg"),
        "orr": (1, "mov"),
        "orn": (1, "mvn"),
        "sbc": (1, "ngc"),
        "sbcs": (1, "ngcs"),
        "madd": (3, "mul"),
        "msub": (3, "mneg"),
        "smaddl": (3, "smull"),
        "umaddl": (3, "umull"),
        "smsubl": (3, "smnegl"),
        "umsubl": (3, "umnegl"),
    }
)
NEGATED = MappingProxyType({"subs": "negs"})
# Conditional select with twice the same register, and with two zero registers.
SAME_SELECT = MappingProxyType({"csinc": ("cinc", "cset"), "csinv": ("cinv", "csetm"), "csneg": ("cneg", "cneg")})
# Bit-field moves: (name where the field ends at the top, {width: name where it starts at 0}).
FIELDS: Mapping[str, tuple[str, Mapping[int, str]]] = MappingProxyType(
    {
        "ubfx": ("lsr", {8: "uxtb", 16: "uxth"}),
        "sbfx": ("asr", {8: "sxtb", 16: "sxth", 32: "sxtw"}),
        "ubfiz": ("lsl", {}),
    }
)
