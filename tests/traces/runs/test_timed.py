"""One run of a command: how it ends, what it says."""

from __future__ import annotations

import sys
from math import isnan

import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.runs.timed import DONE, FAILED, NO_NUMBER, OUT_OF_TIME, Program, metric_pattern, timed_run

PYTHON = sys.executable


def program(code: str) -> Program:
    return Program(code, (PYTHON, "-c", code), {})


def test_lines_are_split_as_a_shell_would() -> None:
    found = Program.of("A=1 B='x y' ./program 'one word' two")
    assert found.words == ("./program", "one word", "two")
    assert found.variables == {"A": "1", "B": "x y"}
    for wrong in ("'open", "", "A=1"):
        with pytest.raises(UsageError):
            Program.of(wrong)


def test_a_run_that_is_done() -> None:
    found = timed_run(program("import time; time.sleep(0.05)"))
    assert found.status == DONE
    assert found.value == found.wall_s >= 0.05


def test_a_number_of_its_output() -> None:
    found = timed_run(program("print('1.5 ms'); print('2,500.25 ms')"), metric_pattern(r"([\d.,]+) ms"))
    assert (found.status, found.value) == (DONE, 2500.25)
    none = timed_run(program("print('nothing')"), metric_pattern(r"([\d.]+) ms"))
    assert none.status == NO_NUMBER
    assert isnan(none.value)


def test_runs_that_fail_or_take_too_long() -> None:
    failed = timed_run(program("print('why'); raise SystemExit(3)"))
    assert (failed.status, failed.exit_code) == (FAILED, 3)
    assert "why" in failed.said
    assert timed_run(program("import time; time.sleep(60)"), most_s=0.1).status == OUT_OF_TIME
    with pytest.raises(UsageError, match="cannot be started"):
        timed_run(Program("no", ("./no-such-program",), {}))


@pytest.mark.parametrize("text", ["(", "no group"])
def test_patterns_need_a_group(text: str) -> None:
    with pytest.raises(UsageError, match="got"):
        metric_pattern(text)
