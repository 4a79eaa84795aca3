"""Branches between addresses, as listings and objects have them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlperf.features.code.flow import Exit


@dataclass(frozen=True, slots=True)
class PlacedBranch:
    """An instruction that may lead elsewhere.

    Attributes
    ----------
    address : int
        Its own.
    flow : str
        How it hands on control, see `Instruction`.
    target : int or None
        Address it leads to; None where that is computed.
    after : int
        Address of what follows it.
    """

    address: int
    flow: str
    target: int | None
    after: int


def may_loop(branches: Sequence[PlacedBranch]) -> bool:
    """Whether some branch leads back, or to an address that is computed."""
    return any(branch.flow == "indirect" or (branch.target is not None and branch.target <= branch.address) for branch in branches)


def placed_exits(
    start: int,
    addresses: Sequence[int],
    branches: Sequence[PlacedBranch],
    relocated: Sequence[int],
    tables: Mapping[int, Sequence[int]],
) -> list[Exit]:
    """Where control leaves the straight line of one function.

    Parameters
    ----------
    start : int
        Address of the function.
    addresses : sequence of int
        Of its counted instructions, ascending.
    branches : sequence of PlacedBranch
        In ascending order.
    relocated : sequence of int
        Addresses that the linker fills in, ascending; a branch that holds one leaves the function.
    tables : mapping
        Address of a computed jump to the addresses it may lead to.
    """
    number = {address: place for place, address in enumerate(addresses)}
    found = []
    for branch in branches:
        at = number.get(branch.address)
        if at is None:
            continue
        if branch.flow == "indirect":
            targets = places_of(tables.get(branch.address, ()), start, addresses)
        elif branch.flow == "return" or branch.target is None or leaves(branch, relocated):
            targets = ()
        else:
            targets = places_of((branch.target,), start, addresses)
        found.append(Exit(at, targets, branch.flow == "branch", branch.flow == "indirect" and not targets))
    return found


def leaves(branch: PlacedBranch, relocated: Sequence[int]) -> bool:
    """Whether the linker decides where a branch leads to: it then leaves the function.

    Listings may lack relocations; an unconditional jump that nobody filled in yet leads to itself, or, in its long form
    on x86, to the next instruction.
    """
    place = bisect_left(relocated, branch.address)
    if place < len(relocated) and relocated[place] < branch.after:
        return True
    is_long = branch.after - branch.address >= 5
    return branch.flow == "jump" and (branch.target == branch.address or (is_long and branch.target == branch.after))


def places_of(targets: Sequence[int], start: int, addresses: Sequence[int]) -> tuple[int, ...]:
    """Numbers of the first counted instructions from some addresses on; none for addresses outside the function."""
    places = (bisect_left(addresses, target) for target in targets if target >= start)
    return tuple(dict.fromkeys(place for place in places if place < len(addresses)))
