"""Limits by hand: what a file may hold, and which goals are met."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.open_data.limits import Limit, judge, read_limits
from mlperf.studies.open_data.scoring.result import Finding, judged, limit_text, reached_text

NAN = float("nan")
TASKS = ("A1", "B1")


@pytest.fixture
def read(tmp_path: Path):
    def from_text(text: str):
        path = tmp_path / "limits.toml"
        path.write_text(text, encoding="utf-8")
        return read_limits(path, TASKS)

    return from_text


def test_limits_are_read_by_the_name_of_the_device(read) -> None:
    found = read('[A1."a: MAPE"]\nat_most = { V100 = 0.1, T4 = "b: MAPE" }\nat_least = { V100 = 0 }\n')
    assert found["A1", "V100", "a: MAPE"] == Limit(0.0, 0.1)
    limit = found["A1", "T4", "a: MAPE"]
    assert limit.upper == "b: MAPE"
    assert limit.lower != limit.lower


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[A2.x]\nat_most = { V100 = 1 }", "'A2'"),
        ("[A1.x]\nat_mots = { V100 = 1 }", "'at_mots'"),
        ("[A1.x]\n", "at_least or at_most"),
        ("[A1.x]\nat_most = 0.1", "expected a table"),
        ("[A1.x]\nat_most = { V100 = true }", "got True"),
        ("[A1.x]\nat_most = { V100 = nan }", "got nan"),
        ("A1 = 1", "expected a table"),
        ("[A1", "TOML"),
    ],
)
def test_what_is_no_limit_is_refused_with_its_place(read, text: str, said: str) -> None:
    with pytest.raises(DataError, match=r"limits\.toml") as error:
        read(text)
    assert said in str(error.value)


def test_a_goal_is_judged_by_the_device_or_by_another_finding() -> None:
    findings = [Finding("A1", "V100", "a", 0.2), Finding("A1", "V100", "b", 0.3), Finding("A1", "T4", "a", 0.2)]
    limits = {("A1", "V100", "a"): Limit(upper=0.1), ("A1", "T4", "a"): Limit(upper=0.5)}
    assert [(goal.device, goal.met) for goal in judge(findings, limits)] == [("V100", False), ("T4", True)]
    (goal,) = judge(findings, {("A1", "V100", "a"): Limit(upper="b")})
    assert (goal.upper, goal.met) == (0.3, True)
    (goal,) = judge(findings, {("A1", "V100", "b"): Limit(upper="a")})
    assert not goal.met


def test_a_limit_of_what_was_not_found_is_missed() -> None:
    """A device that is absent or misspelt cannot pass unseen."""
    for bound in (0.1, "b"):
        (goal,) = judge([Finding("A1", "V100", "a", 0.0)], {("A1", "V10", "a"): Limit(upper=bound)})
        assert not goal.met


def test_a_limit_by_an_unknown_finding_is_refused() -> None:
    with pytest.raises(DataError, match="'c'"):
        judge([Finding("A1", "V100", "a", 0.0)], {("A1", "V100", "a"): Limit(upper="c")})


@pytest.mark.parametrize(
    ("value", "lower", "upper", "met"),
    [(0.5, NAN, 0.5, True), (0.51, NAN, 0.5, False), (0.5, 0.5, NAN, True), (0.4, 0.5, NAN, False), (NAN, NAN, 0.5, False)],
)
def test_goal_is_met_on_its_limit_and_never_by_an_unknown_value(value: float, lower: float, upper: float, met: bool) -> None:
    assert judged(Finding("Z1", "machine", "what", value), lower, upper).met is met


def test_goals_read_in_words() -> None:
    goal = judged(Finding("Z1", "machine", "error", -0.0312), -0.05, 0.05)
    assert (reached_text(goal), limit_text(goal)) == ("-3.1 %", ">= -5.0 % and <= 5.0 %")
    flag = judged(Finding("Z1", "machine", "said so", 0.0, "flag"), 1.0)
    assert (reached_text(flag), limit_text(flag), flag.met) == ("no", "yes", False)
    assert limit_text(judged(Finding("Z1", "machine", "count", 2.0, "number"), 2.0, 2.0)) == "2"
