"""Assumptions of users: what they mean, against one recursion each; what means nothing is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.ranks.job_edits import any_gaps, assumed_step_ns, chosen, parse_assumption
from mlperf.traces.ranks.job_times import job_times

from .made_jobs import make_job
from .operation_tables import last_end
from .test_job_times import keys, laid_out


def test_the_parts_of_an_assumption() -> None:
    one = parse_assumption(" time( stage = 3 , operation=forward-compute|gc)=x0.8 ")
    assert (one.what, one.factor) == ("time", 0.8)
    assert one.where == (("stage", "3"), ("operation", "forward-compute|gc"))
    assert math.isnan(parse_assumption("time()=typical").factor)
    assert parse_assumption("gap(rank=2)=0").factor == 0.0
    assert any_gaps((one, parse_assumption("gap()=x2")))
    assert not any_gaps((one,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stage=3", r"expected time\(...\)=... or gap"),
        ("speed(stage=3)=0", r"expected time\(...\)=... or gap"),
        ("time(stag=3)=0", "Did you mean 'stage'"),
        ("time(stage=)=0", "with a value"),
        ("time(stage=3)=0.5", "expected 0 or a factor such as x0.8 or typical"),
        ("time(stage=3)=x-1", "expected 0 or a factor"),
        ("time(stage=3)=xnan", "expected 0 or a factor"),
        ("gap()=typical", r"expected 0 or a factor such as x0.8$|expected 0 or a factor such as x0.8\n"),
    ],
)
def test_what_is_no_assumption_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_assumption(text)


def test_conditions_choose_operations_and_steps(tmp_path: Path) -> None:
    made = make_job(tmp_path, 6)
    grid, _ = laid_out(made)
    names = keys(grid)
    operations, steps = chosen(parse_assumption("time(stage=0:1,operation=forward-pp-comm,dp_rank=0,step=11:40)=0"), grid)
    assert {names[at] for at in operations.nonzero()[0]} == {
        one for one in names if one[0] == 0 and one[1] <= 1 and one[2] in ("forward-send", "forward-recv")
    }
    assert steps.tolist() == [False, True, True]
    by_rank, _ = chosen(parse_assumption(f"time(rank={made.n_data}|0)=0"), grid)
    assert {names[at][:2] for at in by_rank.nonzero()[0]} == {(0, 0), (0, 1)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time(stage=40)=0", "means no operations of the job"),
        ("time(step=0:9)=0", "means no steps of the job"),
        ("time(operation=forward-compte)=0", "Did you mean 'forward-compute'"),
        ("time(stage=a)=0", "expected a number or a range"),
    ],
)
def test_what_means_nothing_is_refused(text: str, message: str, tmp_path: Path) -> None:
    grid, _ = laid_out(make_job(tmp_path, 6, n_steps=1))
    with pytest.raises(UsageError, match=message):
        chosen(parse_assumption(text), grid)


@pytest.mark.parametrize("seed", range(5))
def test_step_times_under_assumptions(seed: int, tmp_path: Path) -> None:
    made = make_job(tmp_path, seed, n_steps=2)
    grid, graph = laid_out(made)
    times = job_times(grid, graph)
    typical = dict(zip(keys(grid), times.typical_ns.tolist(), strict=True))
    edits = tuple(
        parse_assumption(text) for text in ("time(stage=1)=typical", "time(operation=backward-compute)=x0.5", "gap(step=11)=0")
    )
    without_gaps = assumed_step_ns(grid, graph, times, edits[:2], gaps=False)
    with_gaps = assumed_step_ns(grid, graph, times, edits, gaps=True)
    for at, step in enumerate((10, 11)):
        own = {one: typical[one] if one[1] == 1 else value for one, value in made.own[step].items()}
        own = {one: round(value * 0.5) if one[2] == "backward-compute" else value for one, value in own.items()}
        assert without_gaps[at] == last_end(made.replayed(step, own))
        assert with_gaps[at] == last_end(made.replayed(step, own, gaps=step == 10))
