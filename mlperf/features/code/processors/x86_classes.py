"""Classes of x86-64 mnemonics: a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from mlperf.features.code.processors.x86_names import CONDITIONS, STRING_MEMORY

# Vector instructions by the name without a leading v; the first pattern that fits decides.
_VECTOR: tuple[tuple[str, str], ...] = (
    (r"fn?m(?:add|sub)(?:sub|add)?(?:132|213|231)?p[sdh]", "packed_fma"),
    (r"fn?m(?:add|sub)(?:132|213|231)?s[sdh]", "scalar_fma"),
    (r"(?:add|sub|addsub|hadd|hsub)p[sdh]", "packed_add"),
    (r"(?:add|sub)s[sdh]", "scalar_add"),
    (r"(?:mul|dp)p[sdh]", "packed_multiply"),
    (r"muls[sdh]", "scalar_multiply"),
    (r"(?:div|sqrt|rsqrt|rcp|rcp14|rsqrt14|rcp28|rsqrt28)(?:p|s)[sdh]", "divide"),
    (r"cvt\w+|pmov[sz]x\w+|pmovs?[bwdq][bwdq]|pmovus[bwdq][bwdq]", "convert"),
    (r"(?:cmp\w*|max|min)[ps][sdh]|u?comis[sdh]|p(?:cmp|max|min)\w+|p?test(?:ps|pd|n?m\w)?", "compare"),
    (r"(?:and|andn|or|xor)p[sd]|p(?:and|andn|or|xor)[dq]?|pternlog[dq]", "vector_logic"),
    (
        r"shufp[sd]|shuf[fi]\w+|unpck[hl]p[sd]|punpck\w+|pshuf\w+|mov(?:hl|lh)ps|mov(?:sh|sl|d)dup|p?broadcast\w+|perm\w+|perm2\w+"
        r"|p?insert?\w*|pinsr\w|p?extract\w+|pextr\w|p?align\w+|ps[lr]ldq|p?blend\w+|pack\w+|p?compress\w+|p?expand\w+|zero\w+",
        "shuffle",
    ),
    (
        r"p(?:add|sub|mul|madd|abs|avg|sad|sll|srl|sra|sign|hadd|hsub|rol|ror|dp|clmul|shl|shr|opcnt|lzcnt)\w*|mpsadbw",
        "packed_integer",
    ),
    (r"p?gather\w+", "load"),
    (r"p?scatter\w+", "store"),
    (r"mov(?:[au]p[sd]|dq[au]\d*|s[sdh]|[dqwh]|[hl]p[sd]|ntp[sd]|ntdqa?|ntq|mskp[sd])|lddqu|pmovmskb|p?maskmov\w+|kmov\w", "move"),
)
_VECTOR_PATTERNS = tuple((re.compile(f"v?(?:{pattern})"), kind) for pattern, kind in _VECTOR)

_NAMED: Mapping[str, str] = MappingProxyType(
    {
        "move": "mov movabs movbe movnti xchg movsx movzx",
        "integer": """adc add and bsf bsr bswap btc btr bts cbw cdq cdqe cwd cwde cqo crc32 dec inc imul mul neg not or popcnt lzcnt
            tzcnt rcl rcr rol ror sar sbb shl shld shr shrd sub xadd xor andn bextr blsi blsmsk blsr bzhi mulx pdep pext rorx sarx
            shlx shrx adcx adox cmpxchg cmpxchg8b cmpxchg16b""",
        "divide": "div idiv fdiv fdivr fdivp fdivrp fidiv fidivr fsqrt",
        "compare": "cmp test bt fcom fcomp fcompp fucom fucomp fucompp fcomi fcomip fucomi fucomip ficom ficomp ftst",
        "address": "lea",
        "stack": "push pop pushf popf leave enter",
        "branch": "jmp ljmp ret lret iret jrcxz loop loope loopne " + " ".join(f"j{condition}" for condition in CONDITIONS),
        "call": "call lcall syscall",
        "scalar_add": "fadd faddp fiadd fsub fsubr fsubp fsubrp fisub fisubr",
        "scalar_multiply": "fmul fmulp fimul",
        "convert": "fild fist fistp fisttp",
    }
)
_SETS = {f"set{condition}": "integer" for condition in CONDITIONS} | {f"cmov{condition}": "move" for condition in CONDITIONS}
_STRINGS = dict.fromkeys(STRING_MEMORY, "move") | {"scas": "compare", "cmps": "compare"}
_X87_MOVES = dict.fromkeys(("fld", "fst", "fstp", "fxch", "fld1", "fldz"), "move")
NAMES: Mapping[str, str] = MappingProxyType(
    {name: kind for kind, names in _NAMED.items() for name in names.split()} | _SETS | _STRINGS | _X87_MOVES
)
_ELEMENT_BITS = MappingProxyType({"s": 32, "d": 64, "h": 16})


def x86_class(mnemonic: str, loads: int, stores: int) -> str:
    """Class of a canonical mnemonic; plain moves from and to memory are loads and stores."""
    kind = NAMES.get(mnemonic) or next((kind for pattern, kind in _VECTOR_PATTERNS if pattern.fullmatch(mnemonic)), "other")
    if kind != "move" or not loads + stores:
        return kind
    return "load" if not stores else "store"


def register_bits(operands: list[str]) -> int:
    """Width of the widest vector register among operands."""
    text = " ".join(operands)
    return 512 if "zmm" in text else 256 if "ymm" in text else 128 if "xmm" in text else 64 if "mm" in text else 0


def multiply_lanes(mnemonic: str, kind: str, operands: list[str]) -> int:
    """Floating-point multiplications that an instruction does at once."""
    if kind in ("scalar_multiply", "scalar_fma"):
        return 1
    if kind not in ("packed_multiply", "packed_fma"):
        return 0
    return register_bits(operands) // _ELEMENT_BITS.get(mnemonic[-1], 32)
