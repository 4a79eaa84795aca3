"""Families of tensor contractions: every way of writing loop indices into the subscripts of a few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from types import MappingProxyType
from typing import TYPE_CHECKING

from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class PatternRule:
    """Which patterns belong to a family.

    A pattern such as ``ij-jlk-kil`` names the subscripts of each array: A[i][j] += B[j][l][k] * C[k][i][l].

    Attributes
    ----------
    ranks : tuple of int
        Dimensions of each array; the first one is the result.
    indices : str
        One letter a loop, outermost first.
    distinct : bool
        No index occurs twice inside one array.
    all_used : bool
        Every index occurs at least once.
    times : int or None
        Every index occurs exactly this often; None: any number of times.
    """

    ranks: tuple[int, ...] = (2, 3, 3)
    indices: str = "ijkl"
    distinct: bool = True
    all_used: bool = False
    times: int | None = None

    def __post_init__(self) -> None:
        if not self.ranks or min(self.ranks) < 1:
            raise UsageError(f"got ranks {','.join(map(str, self.ranks))}, expected at least one array, each of rank >= 1")
        if not self.indices or len(set(self.indices)) != len(self.indices) or not self.indices.isalpha():
            raise UsageError(f"got indices {self.indices!r}, expected letters, each once")

    @property
    def words(self) -> str:
        """The rule for people: ``ranks 2,3,3 over the indices ijkl, each of them twice, none of them twice in one array``."""
        how_often = {None: ", each of them at least once" if self.all_used else "", 2: ", each of them twice"}
        often = how_often.get(self.times, f", each of them {self.times} times")
        once = ", none of them twice in one array" if self.distinct else ""
        return f"ranks {','.join(map(str, self.ranks))} over the indices {self.indices}{often}{once}"

    def accepts(self, subscripts: Sequence[str]) -> bool:
        """Whether the subscripts of all arrays together keep the rule."""
        counts = [sum(word.count(index) for word in subscripts) for index in self.indices]
        if self.times is not None and any(count != self.times for count in counts):
            return False
        return not self.all_used or all(counts)


RULES: Mapping[str, PatternRule] = MappingProxyType(
    {
        "twice": PatternRule(times=2),
        "distinct": PatternRule(),
        "distinct_all_used": PatternRule(all_used=True),
        "repeats_all_used": PatternRule(distinct=False, all_used=True),
    }
)


def make_patterns(rule: PatternRule) -> list[str]:
    """Every pattern of a family, in alphabetical order of its subscripts.

    Parameters
    ----------
    rule : PatternRule
        Of any number of arrays and indices.

    Returns
    -------
    list of str
        ``"ij-ikl-jkl"``; operands in the order written, so that both orders of a product count.
    """
    words = [_words(rank, rule) for rank in rule.ranks]
    return ["-".join(subscripts) for subscripts in product(*words) if rule.accepts(subscripts)]


def _words(rank: int, rule: PatternRule) -> list[str]:
    letters: Iterator[tuple[str, ...]] = permutations(rule.indices, rank) if rule.distinct else product(rule.indices, repeat=rank)
    return ["".join(word) for word in letters]


def swap_group(pattern: str) -> str:
    """The pattern with operands of equal rank in alphabetical order: one name for programs that differ in names only.

    Twins measure the same program; they belong into one fold of a cross-validation.
    """
    result, *operands = pattern.split("-")
    in_order = {rank: iter(sorted(word for word in operands if len(word) == rank)) for rank in {len(word) for word in operands}}
    return "-".join([result, *(next(in_order[len(word)]) for word in operands)])


def one_of_each(patterns: Iterable[str], group: Mapping[str, str]) -> list[str]:
    """The first pattern of every group, in the order given.

    Parameters
    ----------
    patterns : iterable of str
        Patterns.
    group : mapping
        Pattern to the name of its group, as from `swap_group`.
    """
    first: dict[str, str] = {}
    for pattern in patterns:
        first.setdefault(group[pattern], pattern)
    return list(first.values())


def unswapped(patterns: Sequence[str]) -> list[str]:
    """One pattern of every group of twins (see `swap_group`)."""
    return one_of_each(patterns, {pattern: swap_group(pattern) for pattern in patterns})


def sample_patterns(patterns: Sequence[str], size: int, rng: np.random.Generator) -> list[str]:
    """Draw ``size`` patterns without repetition, in the order of ``patterns``.

    Raises
    ------
    UsageError
        More patterns were asked for than there are.
    """
    if not 1 <= size <= len(patterns):
        raise UsageError(f"got a sample of {size} patterns, expected 1 to {len(patterns)}")
    return [patterns[place] for place in sorted(rng.choice(len(patterns), size, replace=False))]


def check_pattern(pattern: str) -> list[str]:
    """Subscripts of each array of a pattern.

    Raises
    ------
    UsageError
        Not letters joined by ``-``, or no operand.
    """
    words = pattern.split("-")
    if len(words) < 2 or not all(word.isalpha() for word in words):
        raise UsageError(
            f"got pattern {pattern!r}, expected subscripts joined by '-', such as ij-jlk-kil",
            hint="The first word is the result's, the others are the operands'.",
        )
    return words
