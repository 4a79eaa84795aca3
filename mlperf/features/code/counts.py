"""Instruction counts of one function: the whole of it and its innermost loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.shown import Shown
from mlperf.features.code.flow import NO_LOOPS, Exit, LoopFacts, find_loops
from mlperf.features.code.processors.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Tally(Shown):
    """What a set of instructions consists of.

    Attributes
    ----------
    n_instructions : int
        Instructions; padding and landing pads are not counted.
    mnemonics, kinds : mapping
        Count by canonical mnemonic, and by class.
    n_memory : int
        Instructions with a memory operand.
    loads, stores : int
        Memory operands read and written.
    vector_bits : int
        Width of the widest vectors that packed arithmetic works on.
    lanes : int
        Floating-point multiplications that all of them do together.
    """

    n_instructions: int
    mnemonics: Mapping[str, int]
    kinds: Mapping[str, int]
    n_memory: int
    loads: int
    stores: int
    vector_bits: int
    lanes: int


@dataclass(frozen=True, slots=True, eq=False)
class FunctionCounts(Shown):
    """Static instruction counts of one function.

    Attributes
    ----------
    file, function, architecture : str
        Where it was read.
    total : Tally
        The whole function.
    inner : Tally or None
        Its innermost loops of greatest depth, in union; None where loops were not asked for.
    loops : LoopFacts or None
        Number and depth of loops.
    flags : tuple of str
        ``"indirect"``: it jumps to computed addresses; ``"irreducible"``: a cycle that is no natural loop.
    """

    file: str
    function: str
    architecture: str
    total: Tally
    inner: Tally | None
    loops: LoopFacts | None
    flags: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Columns ``scope`` (``total``, ``innermost``), ``mnemonic``, ``count``."""
        scopes = (("total", self.total), ("innermost", self.inner))
        rows = [
            (scope, name, count) for scope, tally in scopes if tally is not None for name, count in sorted(tally.mnemonics.items())
        ]
        return pd.DataFrame(rows, columns=["scope", "mnemonic", "count"])


def tally(codes: Iterable[int], vocabulary: Vocabulary) -> Tally:
    """Count instructions given by number."""
    instructions = vocabulary.instructions
    mnemonics: dict[str, int] = {}
    kinds: dict[str, int] = {}
    n = n_memory = loads = stores = bits = lanes = 0
    for code, count in Counter(codes).items():
        one = instructions[code]
        if one is None:
            continue
        n += count
        mnemonics[one.mnemonic] = mnemonics.get(one.mnemonic, 0) + count
        kinds[one.kind] = kinds.get(one.kind, 0) + count
        if one.loads or one.stores:
            n_memory += count
            loads += one.loads * count
            stores += one.stores * count
        if one.vector_bits > bits:
            bits = one.vector_bits
        lanes += one.lanes * count
    return Tally(n, mnemonics, kinds, n_memory, loads, stores, bits, lanes)


def function_counts(
    file: str,
    function: str,
    architecture: str,
    codes: IntArray,
    exits: list[Exit] | None,
    vocabulary: Vocabulary,
) -> FunctionCounts:
    """Counts of one function.

    Parameters
    ----------
    file, function, architecture : str
        Where it was read.
    codes : int array, shape (n_instructions,)
        Its instructions by number, in order.
    exits : list of Exit or None
        Where control leaves the straight line; None: loops are not asked for.
    vocabulary : Vocabulary
        Instructions by number.
    """
    numbers = codes.tolist()
    total = tally(numbers, vocabulary)
    if exits is None:
        return FunctionCounts(file, function, architecture, total, None, None)
    loops = find_loops(len(numbers), exits) if numbers and exits else NO_LOOPS
    inner = tally((number for start, stop in loops.innermost for number in numbers[start:stop]), vocabulary)
    flags = [
        name for name, is_set in (("indirect", any(leave.unknown for leave in exits)), ("irreducible", loops.irreducible)) if is_set
    ]
    return FunctionCounts(file, function, architecture, total, inner, loops, tuple(flags))
