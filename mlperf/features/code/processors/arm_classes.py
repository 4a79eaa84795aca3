"""Classes of AArch64 mnemonics: a table; whether arithmetic is packed shows in the operands."""

# ruff: noqa: SIM905 - a table of names reads better as words than as a list of strings
from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_ARRANGED = re.compile(r"v\d+\.(\d+)([bhsd])")
_VECTOR_REGISTER = re.compile(r"[bhsdqv]\d")
_BITS = MappingProxyType({"b": 8, "h": 16, "s": 32, "d": 64})

_INTEGER = """add adds sub subs adc adcs sbc sbcs neg negs ngc ngcs and ands bic bics orr orn eor eon mvn mul mneg madd msub smull
umull smaddl umaddl smsubl umsubl smulh umulh lsl lsr asr ror extr ubfx sbfx ubfiz sbfiz bfi bfxil ubfm sbfm bfm sxtb sxth sxtw uxtb
uxth uxtw clz cls rbit rev rev16 rev32 rev64 csel csinc csinv csneg cset csetm cinc cinv cneg crc32b crc32h crc32w crc32x
crc32cb crc32cw crc32cx"""
_MOVES = "mov movk movi mvni fmov smov umov mrs msr"
_SHUFFLES = "dup ext zip1 zip2 uzp1 uzp2 trn1 trn2 tbl tbx xtn xtn2 sqxtn uqxtn ins bsl bit bif"
_CONVERTS = """scvtf ucvtf fcvt fcvtas fcvtau fcvtms fcvtmu fcvtns fcvtnu fcvtps fcvtpu fcvtzs fcvtzu fcvtl fcvtl2 fcvtn fcvtn2
frinta frinti frintm frintn frintp frintx frintz ushll ushll2 sshll sshll2"""
_COMPARES = """cmp cmn tst ccmp ccmn fcmp fcmpe fccmp fccmpe fcmeq fcmge fcmgt fcmle fcmlt fmax fmin fmaxnm fminnm fmaxv fminv
fmaxnmv fminnmv cmeq cmge cmgt cmhi cmhs cmle cmlt cmtst smax smin umax umin smaxv sminv umaxv uminv"""

NAMES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(_INTEGER.split(), "integer")
    | dict.fromkeys(_MOVES.split(), "move")
    | dict.fromkeys(_SHUFFLES.split(), "shuffle")
    | dict.fromkeys(_CONVERTS.split(), "convert")
    | dict.fromkeys(_COMPARES.split(), "compare")
    | dict.fromkeys("sdiv udiv fdiv fsqrt frecpe frecps frsqrte frsqrts".split(), "divide")
    | dict.fromkeys("adrp adr".split(), "address")
    | dict.fromkeys("b br ret cbz cbnz tbz tbnz eret braa brab braaz brabz retaa retab".split(), "branch")
    | dict.fromkeys("bl blr svc blraa blrab blraaz blrabz".split(), "call")
)
# Floating-point arithmetic by kind; packed where the first operand is a whole vector.
ARITHMETIC: Mapping[str, str] = MappingProxyType(
    dict.fromkeys("fadd fsub faddp fabd fneg fabs".split(), "add")
    | dict.fromkeys("fmul fnmul fmulx".split(), "multiply")
    | dict.fromkeys("fmla fmls fmadd fmsub fnmadd fnmsub fmlal fmlsl".split(), "fma")
)
PACKED_INTEGER = re.compile(
    r"(?:add|sub|neg|abs|mul|mla|mls|shl|sshr|ushr|ssra|usra|sli|sri|uadd|sadd|usub|ssub|umull|smull|umlal|smlal|addv|addp|uaddlv"
    r"|saddlv|cnt|sdot|udot|urhadd|uhadd|shadd|sqadd|uqadd|sqsub|uqsub|rshrn|shrn|uabd|sabd|uaba|saba|pmul)\w*"
)
LOGIC = frozenset({"and", "orr", "eor", "bic", "orn", "mvn"})


def arm_class(mnemonic: str, operands: list[str]) -> str:
    """Class of a canonical mnemonic with its operands."""
    if mnemonic.startswith("b."):
        return "branch"
    loads, stores = arm_memory(mnemonic)
    if loads or stores:
        return "store" if stores else "load"
    first = operands[0].lower() if operands else ""
    if mnemonic in ARITHMETIC:
        return f"{'packed' if _ARRANGED.match(first) else 'scalar'}_{ARITHMETIC[mnemonic]}"
    if first.startswith("v") or (_VECTOR_REGISTER.match(first) and mnemonic not in NAMES):
        if mnemonic in LOGIC:
            return "vector_logic"
        if NAMES.get(mnemonic, "integer") == "integer" and PACKED_INTEGER.fullmatch(mnemonic):
            return "packed_integer"
    return NAMES.get(mnemonic, "other")


def arm_memory(mnemonic: str) -> tuple[int, int]:
    """Memory operands read and written; a pair counts once, as the instruction has one address."""
    if mnemonic.startswith(("ldadd", "ldclr", "ldset", "ldeor", "swp", "cas")):
        return 1, 1
    if mnemonic.startswith("ld"):
        return 1, 0
    return (0, 1) if mnemonic.startswith("st") else (0, 0)


def packed_width(operands: list[str]) -> int:
    """Bits of the widest whole vector among operands."""
    return max((int(count) * _BITS[size] for count, size in _ARRANGED.findall(" ".join(operands).lower())), default=0)


def packed_lanes(kind: str, operands: list[str]) -> int:
    """Floating-point multiplications that an instruction does at once."""
    if kind in ("scalar_multiply", "scalar_fma"):
        return 1
    if kind not in ("packed_multiply", "packed_fma"):
        return 0
    found = _ARRANGED.match(operands[0].lower())
    return int(found[1]) if found else 0
