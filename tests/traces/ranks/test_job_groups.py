"""Groups carry the names that people know them by."""

from __future__ import annotations

from pathlib import Path

from mlperf.traces.ranks.job_groups import groups_of, operation_columns

from .made_jobs import make_job
from .test_job_times import keys, laid_out


def test_groups_hold_whom_their_names_say(tmp_path: Path) -> None:
    grid, _ = laid_out(make_job(tmp_path, 5, n_steps=1))
    groups, names = groups_of(grid), keys(grid)
    words = [groups.words(number) for number in range(len(groups.name))]
    held = dict(zip(words, groups.members, strict=True))
    assert {names[at][:2] for at in held["worker (0, 1)"].nonzero()[0]} == {(0, 1)}
    assert {names[at][1] for at in held["stage 1"].nonzero()[0]} == {1}
    assert {names[at][2] for at in held["operation backward-pp-comm"].nonzero()[0]} == {"backward-send", "backward-recv"}
    assert sum(word.startswith("worker") for word in words) == grid.data_parallel * grid.pipeline


def test_columns_are_those_of_the_operations(tmp_path: Path) -> None:
    grid, _ = laid_out(make_job(tmp_path, 5, n_steps=1))
    columns = operation_columns(grid)
    told = zip(*(columns[name].tolist() for name in ("dp_rank", "stage", "operation", "sequence")), strict=True)
    assert [(d, s, grid.names[number], k) for d, s, number, k in told] == keys(grid)
