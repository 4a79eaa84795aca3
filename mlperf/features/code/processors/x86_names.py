"""One name for every x86-64 mnemonic, whichever assembler wrote it: tables."""

# ruff: noqa: SIM905 - a table of names reads better as words than as a list of strings
from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

PREFIXES = frozenset(
    "rep repe repz repne repnz lock notrack bnd data16 data32 addr32 xacquire xrelease "
    "cs ds es fs gs ss rex rex64 rex.w rex.r rex.x rex.b rex.wr rex.wx rex.wb rex.rx rex.rb rex.xb rex.wrx rex.wrb rex.wxb "
    "rex.rxb rex.wrxb".split()
)
NOT_COUNTED = frozenset({"endbr64", "endbr32", "wait", "fwait", ""})

# Conditions: the spelling that disassemblers prefer.
_CONDITIONS = {
    "z": "e", "nz": "ne", "c": "b", "nae": "b", "nc": "ae", "nb": "ae", "na": "be", "nbe": "a",
    "nge": "l", "nl": "ge", "ng": "le", "nle": "g", "pe": "p", "po": "np",
}  # fmt: skip
CONDITIONS = ("o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g")
_ALIASES = {
    "sal": "shl", "movsxd": "movsx", "movslq": "movsx", "movabsq": "movabs", "cltq": "cdqe", "cwtl": "cwde", "cbtw": "cbw",
    "cqto": "cqo", "cltd": "cdq", "cwtd": "cwd", "retn": "ret", "retf": "lret", "retfq": "lret", "lretq": "lret", "lretl": "lret",
    "iretq": "iret", "iretd": "iret", "pushfq": "pushf", "pushfd": "pushf", "popfq": "popf", "popfd": "popf", "xlatb": "xlat",
    "ud2a": "ud2", "fucompi": "fucomip", "fcompi": "fcomip", "fstcw": "fnstcw", "fstsw": "fnstsw", "fstenv": "fnstenv",
    "finit": "fninit", "fclex": "fnclex", "fsave": "fnsave", "sysretq": "sysret", "sysretl": "sysret", "sysexitq": "sysexit",
    "loopz": "loope", "loopnz": "loopne", "jcxz": "jrcxz", "jecxz": "jrcxz",
}  # fmt: skip
ALIASES: Mapping[str, str] = MappingProxyType(
    _ALIASES
    | {stem + alias: stem + name for stem, (alias, name) in product(("j", "set", "cmov"), _CONDITIONS.items())}
    | {f"movs{source}{target}": "movsx" for source, target in ("bw", "bl", "bq", "wl", "wq", "lq")}
    | {f"movz{source}{target}": "movzx" for source, target in ("bw", "bl", "bq", "wl", "wq")}
    | {
        f"{stem}pclmul{first}{second}dq": f"{stem}pclmulqdq"
        for stem, first, second in product(("", "v"), ("lq", "hq"), ("lq", "hq"))
    }
)

# AT&T appends the operand size to these, and to these only.
_SIZED = """
adc add and bsf bsr bswap bt btc btr bts call cmp cmpxchg crc32 dec div idiv imul in inc jmp lea lcall ljmp mov movbe mul neg not or
out pop popcnt lzcnt tzcnt push rcl rcr ret rol ror sal sar sbb shl shld shr shrd sub test xadd xchg xor andn bextr blsi blsmsk blsr
bzhi mulx pdep pext rorx sarx shlx shrx adcx adox enter leave iret nop pushf popf movnti ptwrite rdrand rdseed rdfsbase rdgsbase
wrfsbase wrgsbase movabs cvtsi2sd cvtsi2ss cvtsd2si cvtss2si cvttsd2si cvttss2si vcvtsi2sd vcvtsi2ss vcvtsd2si vcvtss2si vcvttsd2si
vcvttss2si vcvtusi2sd vcvtusi2ss vcvtsd2usi vcvtss2usi vcvttsd2usi vcvttss2usi lgdt lidt sgdt sidt ltr str sldt lldt smsw lmsw lar
lsl int incssp rdssp sysret sysexit
"""
SIZED = frozenset([*_SIZED.split(), *(f"cmov{condition}" for condition in (*CONDITIONS, *_CONDITIONS))])
SIZES = ("b", "w", "l", "q")

STRINGS: Mapping[str, str] = MappingProxyType(
    {name + size: name for name, size in product(("movs", "cmps", "stos", "lods", "scas", "ins", "outs"), ("", *"bwldq"))}
)
# Memory operands of a string instruction, of which some spellings show none: (loads, stores).
STRING_MEMORY: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"movs": (1, 1), "cmps": (2, 0), "stos": (0, 1), "lods": (1, 0), "scas": (1, 0), "ins": (0, 1), "outs": (1, 0)}
)

X87_SIZED = frozenset(
    """fld fst fstp fild fist fistp fisttp fadd fsub fsubr fmul fdiv fdivr fcom fcomp fiadd fisub fisubr fimul fidiv fidivr ficom
    ficomp""".split()
)
X87_SIZES = ("ll", "s", "l", "t", "q", "w")
# AT&T exchanges these where the result goes to a register other than the top of the stack.
X87_REVERSED: Mapping[str, str] = MappingProxyType(
    {"fsub": "fsubr", "fsubr": "fsub", "fsubp": "fsubrp", "fsubrp": "fsubp"}
    | {"fdiv": "fdivr", "fdivr": "fdiv", "fdivp": "fdivrp", "fdivrp": "fdivp"}
)

# Narrowing conversions that name the width of a memory source in AT&T syntax.
NARROWING = frozenset(
    """vcvtpd2ps vcvtpd2dq vcvttpd2dq vcvtpd2udq vcvttpd2udq vcvtqq2ps vcvtuqq2ps vcvtneps2bf16 vcvtdq2ph vcvtudq2ph vcvtpd2ph
    vcvtps2phx vcvtqq2ph vcvtuqq2ph vfpclassps vfpclasspd vfpclassph""".split()
)

# Predicates of compare instructions by immediate.
PREDICATES = (
    "eq lt le unord neq nlt nle ord eq_uq nge ngt false neq_oq ge gt true eq_os lt_oq le_oq unord_s neq_us nlt_uq nle_uq ord_s "
    "eq_us nge_uq ngt_uq false_os neq_os ge_oq gt_oq true_us"
).split()
INTEGER_PREDICATES = "eq lt le false neq nlt nle true".split()
