"""Values of wprof's lines: what is taken, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.system.wprof_lines import Line, parsed_line


def line(**values: Any) -> Line:
    return Line(values, "a.wprof, line 3")


def test_values() -> None:
    found = line(ts=0.500123456, dur=1e-9, cpu=3, task={"pid": 0, "comm": "swapper/3"})
    assert found.nanoseconds("ts") == 500_123_456
    assert found.length_ns("dur") == 1
    assert (found.number("cpu"), found.number("numa"), found.text("desc")) == (3, -1, "")
    assert found.task() == (0, -1, "swapper/3")


@pytest.mark.parametrize("value", [None, "1", True, 1e10, float("nan"), float("inf"), [1]])
def test_no_time(value: Any) -> None:
    with pytest.raises(DataError, match=r"line 3, key ts.*expected seconds"):
        line(ts=value).nanoseconds("ts")


@pytest.mark.parametrize("value", [None, "1", True, 1.5, -2, 2**31])
def test_no_number(value: Any) -> None:
    with pytest.raises(DataError, match=r"line 3, key cpu.*expected a whole number"):
        line(cpu=value).number("cpu")


def test_what_else_is_refused() -> None:
    with pytest.raises(DataError, match=r"key dur.*expected seconds >= 0"):
        line(dur=-0.1).length_ns("dur")
    with pytest.raises(DataError, match=r"key name.*expected a text"):
        line(name=1).text("name")
    with pytest.raises(DataError, match=r"key task.*expected a task"):
        line(task=7).task()
    with pytest.raises(DataError, match=r"line 3, task, key tid"):
        line(task={"pid": 1, "tid": "x"}).task()
    with pytest.raises(DataError, match=r"is not JSON"):
        parsed_line("{", "here")
    with pytest.raises(DataError, match=r"expected a JSON object"):
        parsed_line("[1]", "here")
