"""The first line: value and interval in one unit, the heaviest reasons, nothing that a terminal would obey."""

from __future__ import annotations

import math

import pytest

from mlperf.report.text.answer import Answer, Outside, TimesFrom, count_text, listed, share_text, time_range_text, unmeasured_lines


def test_a_sentence_with_all_of_its_parts() -> None:
    answer = Answer(
        "ResNet-50 on 8 x 8 GPUs of h100",
        "11.2 min an epoch (95 %: 10.4 to 12.3), mean mini-batch 143",
        TimesFrom("cpu-epyc", "an AMD EPYC", assumed=("allreduce",)),
        inside=False,
        outside=(
            Outside("fc", share=0.02),
            Outside("convolution", "of 2.4 GFLOP above 2.0", 0.38),
            Outside("add"),
            Outside("pool", share=0.1),
        ),
    )
    assert answer.text() == (
        "ResNet-50 on 8 x 8 GPUs of h100: 11.2 min an epoch (95 %: 10.4 to 12.3), mean mini-batch 143; "
        "times: model of cpu-epyc (measured on an AMD EPYC), allreduce assumed, not measured; "
        "outside the measured domain: convolution of 2.4 GFLOP above 2.0 (38.0 % of the time), pool (10.0 % of the time) and 2 more"
    )
    assert answer.brief().endswith("mean mini-batch 143; outside the measured domain")


def test_what_is_not_known_is_not_said() -> None:
    assert Answer("a", "b").text() == "a: b"
    assert Answer("a", "b", inside=True).text() == "a: b; inside the measured domain"
    assert Answer("a", "b", inside=False).text() == "a: b; outside the measured domain"
    assert TimesFrom().text() == ""
    assert TimesFrom(measured_on="a Xeon", warning="which is not the machine asked about").text() == (
        "a model (measured on a Xeon), which is not the machine asked about"
    )


def test_what_was_not_measured_is_told_by_where_it_comes_from() -> None:
    specified = "Not measured, taken from the machine's specification: push, pull"
    passes = "Not measured, worked out from measured passes over vectors: add_momentum, optimizer."
    every = ("push", "add_momentum", "pull", "optimizer")
    assert unmeasured_lines(every) == [f"{specified}; intervals do not tell how far that is off.", passes]
    assert unmeasured_lines(every, is_exact=False) == [f"{specified}.", passes]
    assert unmeasured_lines(["optimizer"]) == ["Not measured, worked out from measured passes over vectors: optimizer."]
    assert unmeasured_lines([]) == []


def test_hostile_names_stay_on_one_line() -> None:
    assert "\n" not in Answer("a\nb\x1b[2J", "c").text()
    assert "\x1b" not in Answer("a\nb\x1b[2J", "c").text()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        ((672.0, 624.0, 738.0), "11.2 min (95 %: 10.4 to 12.3)"),
        ((0.9e-3, 0.8e-3, 1.1e-3), "900 us (95 %: 800 to 1,100)"),
        ((3600.0, math.nan, math.nan), "1.00 h"),
    ],
)
def test_a_time_and_its_bounds_share_a_unit(seconds: tuple[float, float, float], text: str) -> None:
    assert time_range_text(*seconds, 0.95) == text


def test_counts_shares_and_lists() -> None:
    assert count_text(1, "row") == "1 row"
    assert count_text(1204, "row") == "1,204 rows"
    assert [share_text(part, 211) for part in (211, 0, 202)] == ["all 211", "none of 211", "202 of 211"]
    assert listed("abcde", 2) == "a, b and 3 more"
    assert listed("ab", 2) == "a, b"
