"""Natural loops against their definition, worked out by brute force on random graphs, and on graphs drawn by hand."""

from __future__ import annotations

import random

import pytest

from mlperf.features.code.flow import Exit, basic_blocks, dominators, find_loops


def reachable(successors: list[list[int]], without: int | None = None) -> set[int]:
    """Blocks that control can reach from block 0 without passing ``without``."""
    seen: set[int] = set()
    stack = [] if without == 0 else [0]
    while stack:
        block = stack.pop()
        if block not in seen:
            seen.add(block)
            stack += [after for after in successors[block] if after != without]
    return seen


def dominates(first: int, second: int, successors: list[list[int]]) -> bool:
    """Whether every path from block 0 to ``second`` passes ``first``: without ``first`` it is out of reach."""
    return first == second or second not in reachable(successors, without=first)


def loops_by_definition(successors: list[list[int]]) -> tuple[dict[int, set[int]], bool]:
    """Natural loops by header, and whether some cycle is none."""
    inside = reachable(successors)
    bodies: dict[int, set[int]] = {}
    edges = [(block, after) for block in inside for after in successors[block]]
    back = [(block, header) for block, header in edges if dominates(header, block, successors)]
    for block, header in back:
        body = bodies.setdefault(header, {header})
        stack = [block]
        while stack:
            one = stack.pop()
            if one not in body:
                body.add(one)
                stack += [before for before, after in edges if after == one]
    rest = [[after for after in successors[block] if (block, after) not in back] for block in range(len(successors))]
    return bodies, has_cycle(rest, inside)


def has_cycle(successors: list[list[int]], blocks: set[int]) -> bool:
    alive = set(blocks)
    while True:
        ends = {block for block in alive if not any(after in alive for after in successors[block])}
        if not ends:
            return bool(alive)
        alive -= ends


def random_function(rng: random.Random) -> tuple[int, list[Exit]]:
    """A function of up to 24 instructions with random branches."""
    n = rng.randint(2, 24)
    exits = []
    for at in range(n):
        if rng.random() < 0.45:
            targets = (rng.randrange(n),) if rng.random() < 0.9 else ()
            exits.append(Exit(at, targets, rng.random() < 0.6))
    return n, exits


@pytest.mark.parametrize("seed", range(300))
def test_loops_follow_the_definition(seed: int) -> None:
    n, exits = random_function(random.Random(seed))
    starts, successors = basic_blocks(n, exits)
    bodies, irreducible = loops_by_definition(successors)
    found = find_loops(n, exits)
    leaves = [header for header in bodies if not any(other != header and other in bodies[header] for other in bodies)]
    depth = {header: sum(header in body for body in bodies.values()) for header in bodies}
    greatest = max(depth.values(), default=0)
    blocks = set().union(*(bodies[header] for header in leaves if depth[header] == greatest)) if bodies else set()
    ends = [*starts[1:], n]
    assert (found.n_loops, found.n_innermost, found.max_depth) == (len(bodies), len(leaves), greatest)
    assert set(found.innermost) == {(starts[block], ends[block]) for block in blocks}
    assert found.irreducible == irreducible


@pytest.mark.parametrize("seed", range(300, 360))
def test_immediate_dominators_dominate_and_are_nearest(seed: int) -> None:
    _, successors = basic_blocks(*random_function(random.Random(seed)))
    position, dominator = dominators(successors)
    for block in reachable(successors) - {0}:
        others = [other for other in reachable(successors) if other != block and dominates(other, block, successors)]
        assert dominator[block] in others
        assert all(dominates(other, dominator[block], successors) for other in others)
        assert position[dominator[block]] < position[block]


def test_a_nest_of_two_loops_and_a_loop_beside_it() -> None:
    # 0 | 1 2 (3 4) 5 | (6 7) 8
    facts = find_loops(9, [Exit(4, (3,), True), Exit(5, (1,), True), Exit(7, (6,), True), Exit(8, (), False)])
    assert (facts.n_loops, facts.n_innermost, facts.max_depth) == (3, 2, 2)
    assert facts.innermost == ((3, 5),)


def test_a_loop_whose_exit_is_in_the_middle() -> None:
    facts = find_loops(5, [Exit(1, (4,), True), Exit(3, (0,), False), Exit(4, (), False)])
    assert facts.innermost == ((0, 2), (2, 4))
    assert facts.n_loops == 1


def test_two_back_edges_to_one_header_are_one_loop() -> None:
    facts = find_loops(4, [Exit(1, (0,), True), Exit(2, (0,), True), Exit(3, (), False)])
    assert (facts.n_loops, facts.innermost) == (1, ((0, 2), (2, 3)))


def test_a_cycle_with_two_entries_is_flagged_and_not_counted() -> None:
    facts = find_loops(4, [Exit(0, (2,), True), Exit(2, (1,), True), Exit(3, (), False)])
    assert facts.irreducible
    assert facts.n_loops == 0


def test_a_computed_jump_leads_to_blocks_that_nothing_else_reaches() -> None:
    # while (...) switch: 0 header, 1 computed jump, 2..3 and 4..5 its cases, 6 end
    exits = [Exit(0, (6,), True), Exit(1, (), False, unknown=True), Exit(3, (0,), False), Exit(5, (0,), False), Exit(6, (), False)]
    facts = find_loops(7, exits)
    assert (facts.n_loops, facts.innermost) == (1, ((0, 1), (1, 2), (2, 4), (4, 6)))


def test_straight_code_and_unreachable_code_have_no_loop() -> None:
    assert find_loops(3, [Exit(2, (), False)]).n_loops == 0
    assert find_loops(4, [Exit(0, (), False), Exit(3, (2,), False)]).n_loops == 0
