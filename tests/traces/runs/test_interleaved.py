"""Two commands in turns, for real."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.runs.interleaved import RunPlan, run_in_turns
from mlperf.traces.runs.timed import Program

pytestmark = pytest.mark.slow


def program(code: str) -> Program:
    return Program.of(shlex.join([sys.executable, "-c", code]))


def test_whole_blocks_of_both(tmp_path: Path) -> None:
    said = tmp_path / "said"
    one, other = (program(f"open({str(said)!r}, 'a').write('{name}')") for name in "AB")
    found = run_in_turns(one, other, RunPlan(blocks=3, warm_up=1, seed=1))
    order = said.read_text()
    assert sorted(order[:2]) == ["A", "B"]
    assert {order[at : at + 4] for at in (2, 6, 10)} <= {"ABBA", "BAAB"}
    values, is_b = found.blocks()
    assert values.shape == is_b.shape == (3, 4)
    assert is_b.sum() == 6
    assert (values > 0).all()
    assert len(found.compared) == 12


def test_a_run_that_fails_takes_its_block_along(tmp_path: Path) -> None:
    counter = tmp_path / "n"
    file = f"p = pathlib.Path({str(counter)!r}); n = int(p.read_text()) if p.exists() else 0"
    code = f"import pathlib; {file}; p.write_text(str(n + 1)); raise SystemExit(n == 4)"
    found = run_in_turns(program("pass"), program(code), RunPlan(blocks=3, warm_up=0))
    assert len(found.blocks()[0]) == 2
    assert (found.frame["status"] == "failed").sum() == 1


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        run_in_turns(program("pass"), program("raise SystemExit(2)"), RunPlan(blocks=2))
    with pytest.raises(UsageError):
        RunPlan(blocks=1)
    with pytest.raises(UsageError):
        RunPlan(most_s=0)
    assert not list(tmp_path.iterdir())
