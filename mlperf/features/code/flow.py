"""Natural loops of a function from its branches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exit:
    """An instruction after which control need not go to the next one.

    Attributes
    ----------
    at : int
        Its number in the function.
    targets : tuple of int
        Numbers of the instructions it may lead to inside the function.
    falls : bool
        Whether the next instruction may follow.
    unknown : bool
        It jumps to an address that is computed: to any block that nothing else leads to.
    """

    at: int
    targets: tuple[int, ...]
    falls: bool
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """Loops of a function.

    Attributes
    ----------
    n_loops : int
        Natural loops, those with one header merged.
    n_innermost : int
        Loops that hold no other loop, of any depth.
    max_depth : int
        Greatest number of loops around an instruction; 0 without loops.
    innermost : tuple of (int, int)
        Instructions of the innermost loops of the greatest depth in union, as ranges ``start <= number < stop``.
    irreducible : bool
        Some cycle can be entered in two places: it is no natural loop and not counted.
    """

    n_loops: int = 0
    n_innermost: int = 0
    max_depth: int = 0
    innermost: tuple[tuple[int, int], ...] = ()
    irreducible: bool = False


NO_LOOPS = LoopFacts()


def find_loops(n_instructions: int, exits: Sequence[Exit]) -> LoopFacts:
    """Loops of a function: bodies of back edges, a back edge being one that leads to a dominator.

    Parameters
    ----------
    n_instructions : int
        Instructions of the function; control enters at number 0.
    exits : sequence of Exit
        In ascending order of ``at``.
    """
    if not any(leave.unknown or any(target <= leave.at for target in leave.targets) for leave in exits):
        return NO_LOOPS
    starts, successors = basic_blocks(n_instructions, exits)
    order, dominator = dominators(successors)
    bodies, irreducible = loop_bodies(successors, order, dominator)
    if not bodies:
        return LoopFacts(irreducible=irreducible)
    depth = {header: sum(header in body for body in bodies.values()) for header in bodies}
    greatest = max(depth.values())
    leaves = [header for header, body in bodies.items() if not any(other != header and other in body for other in bodies)]
    chosen = [header for header in leaves if depth[header] == greatest]
    blocks = sorted(set().union(*(bodies[header] for header in chosen)))
    ends = [*starts[1:], n_instructions]
    return LoopFacts(len(bodies), len(leaves), greatest, tuple((starts[block], ends[block]) for block in blocks), irreducible)


def basic_blocks(n_instructions: int, exits: Sequence[Exit]) -> tuple[list[int], list[list[int]]]:
    """First instruction of every block, and for each block the numbers of the blocks that may follow."""
    leaders = {0}
    for leave in exits:
        leaders.add(leave.at + 1)
        leaders.update(leave.targets)
    starts = sorted(leader for leader in leaders if leader < n_instructions)
    number = {start: block for block, start in enumerate(starts)}
    last = {end - 1: block for block, end in enumerate([*starts[1:], n_instructions])}
    successors = [[block + 1] if block + 1 < len(starts) else [] for block in range(len(starts))]
    unknown = []
    for leave in exits:
        block = last[leave.at]
        following = successors[block] if leave.falls else []
        successors[block] = [*dict.fromkeys([*following, *(number[target] for target in leave.targets)])]
        unknown += [block] if leave.unknown else []
    if unknown:
        reached = {0, *(after for following in successors for after in following)}
        orphans = [block for block in range(len(starts)) if block not in reached]
        for block in unknown:
            successors[block] = orphans
    return starts, successors


def dominators(successors: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Position of each block in reverse postorder (-1: unreachable), and the immediate dominator of each.

    References
    ----------
    Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001).
    """
    sequence = reverse_postorder(successors)
    position = [-1] * len(successors)
    for place, block in enumerate(sequence):
        position[block] = place
    before = predecessors(successors, sequence)
    dominator = [-1] * len(successors)
    dominator[0] = 0
    changed = True
    while changed:
        changed = False
        for block in sequence[1:]:
            new = -1
            for other in before[block]:
                if dominator[other] >= 0:
                    new = other if new < 0 else common_dominator(new, other, dominator, position)
            if new != dominator[block]:
                dominator[block] = new
                changed = True
    return position, dominator


def reverse_postorder(successors: Sequence[Sequence[int]]) -> list[int]:
    """Blocks reachable from block 0, each before those it leads to, back edges aside."""
    seen = [False] * len(successors)
    seen[0] = True
    finished: list[int] = []
    stack = [(0, iter(successors[0]))]
    while stack:
        block, rest = stack[-1]
        for following in rest:
            if not seen[following]:
                seen[following] = True
                stack.append((following, iter(successors[following])))
                break
        else:
            finished.append(block)
            stack.pop()
    return finished[::-1]


def predecessors(successors: Sequence[Sequence[int]], blocks: Iterable[int]) -> list[list[int]]:
    """Blocks among ``blocks`` that lead to each block."""
    before: list[list[int]] = [[] for _ in successors]
    for block in blocks:
        for following in successors[block]:
            before[following].append(block)
    return before


def common_dominator(first: int, second: int, dominator: Sequence[int], position: Sequence[int]) -> int:
    """Nearest block that dominates both."""
    while first != second:
        while position[first] > position[second]:
            first = dominator[first]
        while position[second] > position[first]:
            second = dominator[second]
    return first


def loop_bodies(
    successors: Sequence[Sequence[int]], position: Sequence[int], dominator: Sequence[int]
) -> tuple[dict[int, set[int]], bool]:
    """Blocks of every natural loop by header, and whether a cycle has no header that dominates it."""
    reachable = [block for block, place in enumerate(position) if place >= 0]
    before = predecessors(successors, reachable)
    bodies: dict[int, set[int]] = {}
    irreducible = False
    for block in reachable:
        for header in successors[block]:
            if position[header] > position[block]:
                continue
            if dominates(header, block, dominator, position):
                collect_body(bodies.setdefault(header, {header}), block, before)
            else:
                irreducible = True
    return bodies, irreducible


def dominates(header: int, block: int, dominator: Sequence[int], position: Sequence[int]) -> bool:
    """Whether every way to ``block`` leads through ``header``."""
    while position[block] > position[header]:
        block = dominator[block]
    return block == header


def collect_body(body: set[int], latch: int, before: Sequence[Sequence[int]]) -> None:
    """Add to ``body`` every block from which the latch is reached without passing the header."""
    stack = [latch]
    while stack:
        block = stack.pop()
        if block not in body:
            body.add(block)
            stack.extend(before[block])
