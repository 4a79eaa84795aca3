"""The page of a judgement says first what was missed and then everything."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.datasets.campaigns.trainer_runs import TrainerRuns
from mlperf.report.pages.judgement import judgement_page
from mlperf.studies.judgement import JudgementPlan
from mlperf.studies.judgement.judge import judgement_of
from mlperf.studies.trainer import TrainerLimits
from mlperf.studies.trainer.predictions import STEP_ALONE

pytestmark = pytest.mark.slow


def test_the_page_begins_with_what_was_missed_and_shows_every_row(
    judged_runs: TrainerRuns, judged_rows: pd.DataFrame, judgement_plan: JudgementPlan, judgement_limits: TrainerLimits
) -> None:
    found = judgement_of(judged_runs, judged_rows, judgement_limits)
    page = judgement_page(found, judgement_plan)
    first, *rest = page.split("\n## ")
    assert f"**{len(found.missed)} of {len(found.gates)} limits are missed.**" in first
    assert all(f"- missed: {name}" in first for name in found.missed)
    assert "**does not have** less regret" in first
    sections = {text.partition("\n")[0]: text for text in rest}
    assert all(f"| {name} |" in sections["What was asked"] for name in found.gates["gate"])
    rows = [line for line in sections["Every run"].splitlines() if line.startswith("| ")]
    assert len(rows) == 189 + 2
    settings = [line for line in sections["Every setting"].splitlines() if line.startswith(("| ring", "| tree", "| halving"))]
    assert len(settings) == 3 * 6 * (9 + 3 + 9)
    wrong = found.pairs[found.pairs[STEP_ALONE] <= 0.0]
    assert sections["Choices and order inside windows"].count(" x ") == 2 * len(wrong)


def test_predicted_order_is_that_of_the_runs(
    judged_runs: TrainerRuns, judged_rows: pd.DataFrame, judgement_limits: TrainerLimits
) -> None:
    """Every answer is off by one factor: no pair of them is reversed, and neither has regret."""
    found = judgement_of(judged_runs, judged_rows, judgement_limits)
    assert set(found.n_reversed.values()) == {0}
    assert set(found.mean_regret.values()) == {0.0}
    assert not found.chooses_better
