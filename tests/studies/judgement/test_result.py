"""What is said of choices: less regret and fewer reversed pairs, both."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.studies.judgement.result import Judgement
from mlperf.studies.trainer.predictions import MODEL, STEP_ALONE


@pytest.mark.parametrize(("regret", "said", "better"), [(0.0, 0.2, True), (0.1, 0.2, False), (0.0, -0.2, False)])
def test_the_model_chooses_better_only_with_less_regret_and_fewer_pairs(regret: float, said: float, better: bool) -> None:
    none = pd.DataFrame()
    windows = pd.DataFrame({"method": [MODEL, STEP_ALONE], "regret": [regret, 0.1]})
    pairs = pd.DataFrame({MODEL: [said], STEP_ALONE: [0.0]})
    gates = pd.DataFrame({"gate": ["a", "b"], "met": [True, False]})
    found = Judgement(gates, none, none, none, none, none, {}, windows, pairs, {})
    assert found.missed == ["b"]
    assert found.n_reversed == {MODEL: int(said <= 0.0), STEP_ALONE: 1}
    assert found.chooses_better is better
