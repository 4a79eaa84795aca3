"""C text of the kernels, of their arrays and of the table by which the driver finds them."""

from __future__ import annotations

from collections.abc import Sequence

from mlperf.specs.patterns import check_pattern

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BOUNDARY_BYTES = 64
SAFE_ALIGNMENT = 16
"""What compilers may assume of external arrays on x86-64 unless told otherwise."""


def kernel_name(pattern: str) -> str:
    """Name of the compiled function: ``k_ij_jlk_kil``."""
    return f"k_{pattern.replace('-', '_')}"


def kernel_source(pattern: str, loops: str, n: int, offset_bytes: int = 0) -> str:
    """One translation unit: the nest of one pattern over external arrays, with the extent as a constant.

    The compiler may vectorise, but it sees neither the contents of the arrays nor the caller: it cannot leave work out.

    Parameters
    ----------
    pattern : str
        ``"ij-jlk-kil"`` is A[i][j] += B[j][l][k] * C[k][i][l].
    loops : str
        One letter a loop, outermost first.
    n : int
        Extent of every loop and dimension.
    offset_bytes : int
        Distance of the arrays from a 64-byte boundary; off a 16-byte boundary the text says so, or compiled loads would fault.
    """
    words = check_pattern(pattern)
    attribute = "" if offset_bytes % SAFE_ALIGNMENT == 0 else " __attribute__((aligned(4)))"
    arrays = ", ".join(f"{name}{'[N]' * len(word)}{attribute}" for name, word in zip(NAMES, words, strict=False))
    result, *operands = (f"{name}{''.join(f'[{index}]' for index in word)}" for name, word in zip(NAMES, words, strict=False))
    nest = " ".join(f"for({x}=0;{x}<N;{x}++)" for x in loops)
    return (
        f"#define N {n}\n"
        f"extern float {arrays};\n"
        f"void {kernel_name(pattern)}(void){{\n"
        f"  int {','.join(loops)};\n"
        f"  {nest}\n"
        f"    {result} += {' * '.join(operands)};\n"
        "}\n"
    )


def table_source(patterns: Sequence[str], n: int, offset_bytes: int) -> str:
    """Definitions of the arrays, ``offset_bytes`` from a 64-byte boundary each, and the table of kernels."""
    ranks = [len(word) for word in check_pattern(patterns[0])]
    lines = [f"#define N {n}"]
    for name, rank in zip(NAMES, ranks, strict=False):
        room = f"{offset_bytes} + sizeof(float{'[N]' * rank})"
        lines.append(f"__attribute__((aligned({BOUNDARY_BYTES}), used)) char room_{name}[{room}];")
        lines.append(f'__asm__(".globl {name}\\n.set {name}, room_{name} + {offset_bytes}\\n");')
        lines.append(f"extern float {name}{'[N]' * rank};")
    lines.extend(f"void {kernel_name(pattern)}(void);" for pattern in patterns)
    lines.append("struct kernel { const char *name; void (*call)(void); };")
    lines.append("const struct kernel kernels[] = {")
    lines.extend(f'  {{"{pattern}", {kernel_name(pattern)}}},' for pattern in patterns)
    lines.append("};")
    lines.append(f"const int n_kernels = {len(patterns)};")
    used = NAMES[: len(ranks)]
    lines.append(f"float *const arrays[] = {{{', '.join(f'(float *){name}' for name in used)}}};")
    lines.append(f"const long lengths[] = {{{', '.join(str(n**rank) for rank in ranks)}}};")
    lines.append(f"const int n_arrays = {len(ranks)};")
    return "\n".join(lines) + "\n"
