"""A whole measurement of two rounds: rows, units, going on, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.canonical import measure
from mlperf.collect.canonical.cases import Case
from mlperf.collect.canonical.measure import PER_CASE_S, CanonicalRequest, collect_canonical, measure_alone, round_s
from mlperf.core.errors import InterruptedRun, UsageError
from mlperf.core.progress import Silent
from mlperf.datasets import read_table
from mlperf.datasets.dictionary.server_schema import CANONICAL

CASES = (Case("fc", "forward", (64, 64)), Case("fc", "update", (64, 64)), Case("server", "add", (4096,)))


def test_rounds_visit_every_case_and_go_on_where_they_were_stopped(tmp_path: Path) -> None:
    measure_alone(CanonicalRequest(tmp_path, rounds=1), CASES, Silent())
    measure_alone(CanonicalRequest(tmp_path, rounds=3), CASES, Silent())
    rows = read_table(tmp_path / "canonical.csv", CANONICAL, "keep")
    assert len(rows) == 9
    assert sorted(rows["sequence"]) == list(range(1, 10))
    assert rows.groupby("round").size().eq(3).all()
    assert (rows["time_s"] < 1e-2).all()
    assert set(rows.loc[rows["kind"] == "server", "n_connections"]) == {4096}


def test_more_processes_than_cores_and_a_second_code_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="each needs a core of its own"):
        collect_canonical(CanonicalRequest(tmp_path, most_threads=10_000))
    measure_alone(CanonicalRequest(tmp_path, rounds=1), CASES, Silent())
    with pytest.raises(UsageError, match="got code scalar, expected blas"):
        collect_canonical(CanonicalRequest(tmp_path, code="scalar"))


def test_a_round_is_expected_to_take_longer_where_sets_are_large() -> None:
    small, large = Case("fc", "forward", (64, 64)), Case("fc", "forward", (16_384, 16_384))
    assert round_s([small, small]) == pytest.approx(2.0 * PER_CASE_S, rel=0.01)
    assert round_s([large]) > 1.0


def test_who_stops_it_is_told_that_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure_alone", stopped)
    with pytest.raises(InterruptedRun, match=r"every finished round is in the tables(?s:.)*The same command continues"):
        collect_canonical(CanonicalRequest(tmp_path, most_threads=1))
