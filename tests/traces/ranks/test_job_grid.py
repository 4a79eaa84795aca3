"""Tables laid out: degrees, steps that are not whole, rows that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.ranks.job_grid import job_grid
from mlperf.traces.readers.operations import read_operations

from .made_jobs import make_job

pytestmark = pytest.mark.slow


def edited(path: Path, change: Callable[[list[str]], list[str]]) -> Path:
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join((header, *change(rows))) + "\n", encoding="utf-8")
    return path


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    made = make_job(tmp_path, 4)
    plain = job_grid(read_operations(made.path))
    rng = np.random.default_rng(0)
    mixed = job_grid(read_operations(edited(made.path, lambda rows: [rows[at] for at in rng.permutation(len(rows))])))
    assert plain.steps.tolist() == mixed.steps.tolist() == [10, 11, 12]
    names = [[grid.names[number] for number in grid.operation] for grid in (plain, mixed)]
    by_name = [np.lexsort((grid.sequence, np.array(name), grid.stage)) for grid, name in zip((plain, mixed), names, strict=True)]
    assert (plain.start_ns[:, :, by_name[0]] == mixed.start_ns[:, :, by_name[1]]).all()
    assert plain.rank.tolist() == [[s * made.n_data + d for s in range(made.n_stages)] for d in range(made.n_data)]


def test_degrees_are_checked_against_the_table(tmp_path: Path) -> None:
    made = make_job(tmp_path, 4)
    table = read_operations(made.path)
    assert job_grid(table, made.n_data, made.n_stages).n_slots == job_grid(table).n_slots
    with pytest.raises(UsageError, match=f"data-parallel degree of 9, but .* has {made.n_data}"):
        job_grid(table, 9)


def test_without_columns_ranks_stand_stage_by_stage(tmp_path: Path) -> None:
    made = make_job(tmp_path, 4)
    told = job_grid(read_operations(made.path))
    cut = [line.split(",") for line in made.path.read_text(encoding="utf-8").splitlines()]
    made.path.write_text("\n".join(",".join([*cells[:2], *cells[4:]]) for cells in cut) + "\n", encoding="utf-8")
    table = read_operations(made.path)
    found = job_grid(table, made.n_data, made.n_stages)
    assert (found.start_ns == told.start_ns).all()
    assert (found.stage == told.stage).all()
    assert "ranks are taken as stage by stage" in found.notes[0]
    with pytest.raises(UsageError, match=r"degrees of .* are not known"):
        job_grid(table)
    with pytest.raises(UsageError, match=f"has {made.n_data * made.n_stages} ranks"):
        job_grid(table, made.n_data + 1, made.n_stages)


def test_steps_that_are_not_whole_are_left_out_and_told(tmp_path: Path) -> None:
    made = make_job(tmp_path, 4)
    grid = job_grid(read_operations(edited(made.path, lambda rows: rows[:-1])))
    assert grid.steps.tolist() == [10, 11]
    assert grid.notes == ("1 of 3 steps are left out, whose operations are not those of the first step: 12.",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [*rows, rows[0]], "column sequence: is the same operation of the same rank and step as line 2"),
        (lambda rows: [*rows, rows[0].replace("10,", "10,9", 1)], "got ranks .* for dp_rank 0 and stage 0"),
        (lambda rows: [row.replace("gc", "gcc") for row in rows], "column operation: got 'gcc', expected one of params"),
        (lambda rows: [row for row in rows if ",1," not in row[:9]], "has no rows of dp_rank|none of which"),
        (lambda rows: [rows[0].replace(",0,", ",2000000000,", 4)], "data-parallel ranks and stages, but 1 operations"),
    ],
)
def test_what_cannot_be_is_refused(change: Callable[[list[str]], list[str]], message: str, tmp_path: Path) -> None:
    path = edited(make_job(tmp_path, 4).path, change)
    with pytest.raises(DataError, match=message):
        job_grid(read_operations(path))
