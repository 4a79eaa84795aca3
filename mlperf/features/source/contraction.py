"""The loop nest of a contraction pattern, without a source file."""

from __future__ import annotations

from collections.abc import Sequence

from mlperf.features.source.nest import Array, Loop, Nest, Reference, Statement
from mlperf.features.source.polynomial import Polynomial
from mlperf.specs.patterns import check_pattern

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def pattern_nest(pattern: str, loops: Sequence[str] = "ijkl", element_size: int = 4) -> Nest:
    """``A[...] += B[...] * C[...] ...`` over loops of one extent ``N``, as a nest with the open size ``N``.

    Parameters
    ----------
    pattern : str
        ``"ij-jlk-kil"``: the first word is the result's subscripts, the others are the operands'.
    loops : sequence of str
        Loop indices, outermost first; indices of the pattern that are missing here are added inside, in order of appearance.
    element_size : int
        Bytes of an element.

    Raises
    ------
    UsageError
        The pattern is not letters joined by ``-``.
    """
    words = check_pattern(pattern)
    order = [*loops, *(letter for letter in dict.fromkeys("".join(words)) if letter not in loops)]
    extent = Polynomial.name("N")
    arrays = tuple(Array(name, element_size, (extent,) * len(word)) for name, word in zip(NAMES, words, strict=False))
    references = tuple(
        Reference(name, tuple(map(Polynomial.name, word)), "read" if number else "update")
        for number, (name, word) in enumerate(zip(NAMES, words, strict=False))
    )
    body: Loop | Statement = Statement(references, n_operations=len(words) - 1, n_multiplies=len(words) - 2)
    for letter in reversed(order):
        body = Loop(letter, Polynomial(), extent, 1, (body,))
    outermost = (body,) if isinstance(body, Loop) else ()
    return Nest(pattern, arrays, outermost, f"pattern {pattern}")
