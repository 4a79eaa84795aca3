"""Whether the innermost loop can run in vector registers, and what that asks of its references."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.core.shown import Shown
from mlperf.features.source.strides import Access, Addresses, Level, Work


@dataclass(frozen=True, slots=True)
class Vectorisability(Shown):
    """Judgement on one innermost loop.

    Attributes
    ----------
    vectorisable : bool
        Every reference is contiguous or invariant, and nothing below forbids it.
    reason : str
        What forbids it; empty where nothing does.
    n_contiguous, n_broadcasts, n_gathers : int
        References that step by one element (either way), not at all, by more.
    reduction : bool
        It accumulates into something that the loop does not move.
    needs_checks : bool
        Pointers may overlap: the compiler must test that at run time.
    """

    vectorisable: bool
    reason: str
    n_contiguous: int
    n_broadcasts: int
    n_gathers: int
    reduction: bool
    needs_checks: bool


def innermost_levels(addresses: Addresses) -> list[Level]:
    """Loops without a loop inside, of those at the nest's greatest depth."""
    deepest: list[tuple[int, Level]] = []

    def visit(level: Level, depth: int) -> None:
        inner = [item for item in level.body if isinstance(item, Level)]
        for item in inner:
            visit(item, depth + 1)
        if not inner:
            deepest.append((depth, level))

    for level in addresses.levels:
        visit(level, 1)
    greatest = max(depth for depth, _ in deepest)
    return [level for depth, level in deepest if depth == greatest]


def judge_loop(level: Level, addresses: Addresses, *, reassociate: bool = True) -> Vectorisability:
    """Judge one innermost loop.

    Parameters
    ----------
    level : Level
        A loop without loops inside.
    addresses : Addresses
        Its nest.
    reassociate : bool
        Whether floating-point sums may be reordered (``-ffast-math``; the default of some compilers).
    """
    works = [item for item in level.body if isinstance(item, Work)]
    accesses = [access for work in works for access in work.accesses]
    strides = [access.strides[level.name] for access in accesses]
    reduction = any(work.statement.reduces_scalar for work in works) or any(
        access.access == "update" and stride == 0 for access, stride in zip(accesses, strides, strict=True)
    )
    reason = obstacle(works, level.name, addresses, reduction and not reassociate)
    return Vectorisability(
        vectorisable=not reason,
        reason=reason,
        n_contiguous=sum(abs(stride) == 1 for stride in strides),
        n_broadcasts=sum(stride == 0 for stride in strides),
        n_gathers=sum(abs(stride) > 1 for stride in strides),
        reduction=reduction,
        needs_checks=may_overlap(accesses, addresses),
    )


def obstacle(works: list[Work], loop: str, addresses: Addresses, order_matters: bool) -> str:
    """What forbids vector code; empty where nothing does."""
    accesses = [access for work in works for access in work.accesses]
    if any(work.statement.n_calls for work in works):
        return "calls a function"
    if any(work.statement.in_order and (work.statement.reduces_scalar or stands_still(work, loop)) for work in works):
        return "a trip needs what the trip before computed"
    if order_matters and any(addresses.arrays[access.array].floating for access in accesses):
        return "sums floating-point numbers, whose order may not change"
    if any(abs(access.strides[loop]) > 1 for access in accesses):
        return "a reference is neither contiguous nor invariant"
    if any(access.access == "write" and access.strides[loop] == 0 for access in accesses):
        return "writes the same element on every trip"
    carried = next((access.array for access in accesses if is_carried(access, accesses, loop)), None)
    return f"a trip needs what an earlier trip wrote to {carried}" if carried else ""


def stands_still(work: Work, loop: str) -> bool:
    """Whether a statement updates an element that the loop does not move."""
    return any(access.access == "update" and access.strides[loop] == 0 for access in work.accesses)


def is_carried(write: Access, accesses: list[Access], loop: str) -> bool:
    """Whether another reference to the same array meets, on another trip of ``loop``, what ``write`` writes."""
    if write.access == "read":
        return False
    return any(
        other is not write
        and other.array == write.array
        and (other.strides != write.strides or meets_later(write, other, write.strides[loop]))
        for other in accesses
    )


def meets_later(write: Access, other: Access, stride: int) -> bool:
    """Whether two references that move alike are a whole number of trips apart, the write being ahead."""
    distance = sum(
        (ours - theirs) * step for ours, theirs, step in zip(write.offsets, other.offsets, write.dimension_strides, strict=True)
    )
    if stride == 0 or distance == 0:
        return False
    return distance % stride == 0 and (distance // stride > 0 or other.access != "read")


def may_overlap(accesses: list[Access], addresses: Addresses) -> bool:
    """Whether a written array and another one may share memory, as pointers without ``restrict`` may."""
    names = {access.array for access in accesses}
    written = {access.array for access in accesses if access.access != "read"}
    loose = {name for name in names if addresses.arrays[name].may_alias}
    return len(names) > 1 and bool(written) and bool(loose)
