"""All what-ifs of made-up jobs against one recursion each."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.traces.ranks.job_groups import FAMILIES, groups_of
from mlperf.traces.ranks.job_times import job_times
from mlperf.traces.ranks.job_what_ifs import job_what_ifs, worst_workers
from mlperf.traces.ranks.operations import OPERATION_KINDS

from .made_jobs import make_job
from .operation_tables import Operation, last_end
from .test_job_times import keys, laid_out

pytestmark = pytest.mark.slow


def belongs(operation: Operation, family: str, name: str) -> bool:
    d, s, kind, _ = operation
    told = {"worker": f"({d}, {s})", "dp_rank": str(d), "stage": str(s), "operation": OPERATION_KINDS[kind].type}
    return told[family] == name


@pytest.mark.parametrize("seed", range(8))
def test_every_group_alone_and_fixed(seed: int, tmp_path: Path) -> None:
    made = make_job(tmp_path, seed, n_steps=2)
    grid, graph = laid_out(made)
    times = job_times(grid, graph)
    found = job_what_ifs(graph, times, groups_of(grid))
    typical = dict(zip(keys(grid), times.typical_ns.tolist(), strict=True))
    for at, step in enumerate(grid.steps.tolist()):
        own = made.own[step]
        assert found.no_gaps_ns[at] == last_end(made.replayed(step, own))
        assert found.ideal_ns[at] == last_end(made.replayed(step, typical))
        assert found.replayed_ns[at] == found.measured_ns[at] == last_end(made.replayed(step, own, gaps=True))
        for group, (family, name) in enumerate(zip(found.groups.family, found.groups.name, strict=True)):
            alone = {one: own[one] if belongs(one, family, name) else typical[one] for one in own}
            fixed = {one: typical[one] if belongs(one, family, name) else own[one] for one in own}
            assert found.alone_ns[group, at] == last_end(made.replayed(step, alone))
            assert found.fixed_ns[group, at] == last_end(made.replayed(step, fixed))
            assert found.fixed_with_gaps_ns[group, at] == last_end(made.replayed(step, fixed, gaps=True))


def test_each_family_divides_the_operations(tmp_path: Path) -> None:
    grid, _ = laid_out(make_job(tmp_path, 3, n_steps=1))
    groups = groups_of(grid)
    for family in FAMILIES:
        assert (groups.members[groups.of(family)].sum(axis=0) == 1).all()


def test_the_worst_workers_are_slow_by_rank_and_by_stage(tmp_path: Path) -> None:
    grid, graph = laid_out(make_job(tmp_path, 3, n_steps=1))
    groups = groups_of(grid)
    alone = job_what_ifs(graph, job_times(grid, graph), groups).slowdown_alone.copy()
    alone[groups.of("dp_rank")], alone[groups.of("stage")] = 1.0, 1.0
    alone[groups.of("dp_rank")[-1]], alone[groups.of("stage")[1]] = 1.7, 1.5
    worst = worst_workers(groups, alone)
    assert [groups.words(number) for number in worst.tolist()] == [f"worker ({grid.data_parallel - 1}, 1)"]
