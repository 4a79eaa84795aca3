"""A judgement is read whole or not at all."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import TrainerRuns
from mlperf.studies.judgement import JudgementPlan
from mlperf.studies.judgement.runs import check_runs


def test_the_planned_runs_are_all_that_is_taken(judgement_plan: JudgementPlan, judged_runs: TrainerRuns) -> None:
    table = judged_runs.table
    check_runs(judgement_plan, table, "there")
    for wrong, said in ((table.iloc[1:], "got no run"), (pd.concat([table, table.iloc[:1]]), "got one more run")):
        with pytest.raises(DataError, match=f"there: {said}"):
            check_runs(judgement_plan, wrong, "there")
    with pytest.raises(DataError, match="updates"):
        check_runs(judgement_plan, table.assign(n_updates=table["n_updates"] + 1), "there")
