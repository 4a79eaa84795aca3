"""The bundled judgements, judged again: exactly the limits are missed that are said to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlperf.studies.judgement import bundled_judgements, judge_runs, judgement_folder, plan_judgement, read_judgement
from mlperf.studies.trainer import TrainerLimits

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "judgement.md"
SAME = 0.1
"""Relative difference that other versions of the packages may make of a missed value."""


def test_what_the_page_says_is_what_the_bundled_runs_say(judgement_limits: TrainerLimits) -> None:
    if not bundled_judgements():
        assert not PAGE.exists()
        pytest.skip("no judgement has been run yet")
    (commit,) = set(re.findall(r"make_judgement.py page ([0-9a-f]{40})", PAGE.read_text(encoding="utf-8")))
    plan = plan_judgement(commit)
    found = judge_runs(read_judgement(plan, judgement_folder(commit)), judgement_limits, jobs=-1)
    missed = found.gates[~found.gates["met"]].set_index("gate")["value"]
    assert sorted(missed.index) == sorted(judgement_limits.missed)
    for gate, value in judgement_limits.missed.items():
        assert missed[gate] == pytest.approx(value, rel=SAME), gate
