"""Real against synthetic input on other cores and workers: what is kept of the runs, judged by the limits fixed before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.studies.case_studies.judgement import CaseJudgement, judge_case_studies
from mlperf.studies.case_studies.protocol import read_case_protocol

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found() -> CaseJudgement:
    protocol = read_case_protocol(TESTS / "acceptance" / "case_studies.toml")
    return judge_case_studies(protocol, TESTS / "reference" / "case_studies")


MISSED = {"predictions outside their intervals"}
"""Of the latest runs; a limit that is kept at last leaves the list."""


def test_exactly_the_limits_are_missed_that_are_said_to_be(found: CaseJudgement) -> None:
    assert set(found.gates.loc[~found.gates["met"].astype(bool), "gate"]) == MISSED


def test_real_input_costs_devices_until_there_is_enough_of_it(found: CaseJudgement) -> None:
    lost = found.settings.set_index(["series", "n_cores", "n_workers"])["lost_devices"]
    storage = lost["storage"].to_list()
    assert storage[0] > 1
    assert storage[-1] < storage[0] / 2
