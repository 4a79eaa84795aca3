"""Steps of synchronous systems: what exact steps score, regret by hand, published figures of plain rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.studies.open_data.steps import (
    COMPOSED,
    Steps,
    apart_by,
    judge_steps,
    regret_of,
    score_machine,
    score_sharded,
)
from mlperf.training.systems.train_system import CONSTANT, PERFECT


def test_exact_steps_are_told_exactly_and_rules_of_thumb_are_not() -> None:
    """2 ms a sample, 30 ms a step, 40 ms where the machine is left, asked for twice the machines."""
    rows = pd.DataFrame(
        [(gpus, size) for gpus in (1, 2, 4, 8, 16, 32, 64) for size in (16, 32, 64)], columns=["n_gpus", "subbatch_size"]
    )
    rows = rows.assign(n_gpus_per_node=8, step_s=0.002 * rows["subbatch_size"] + 0.03 + 0.04 * (rows["n_gpus"] > 8))
    found = judge_steps("C3", "made", Steps(rows, "data-parallel"), apart_by(rows["n_gpus"] > 32, "64 GPUs"))
    scores = {one.method: one for one in found.scores}
    assert scores[COMPOSED].max < 1e-6
    assert min(scores[PERFECT].mape, scores[CONSTANT].mape) > 0.05
    flags = {one.what: one.value for one in found.findings}
    assert flags["flagged as extrapolation"] == 1.0
    assert flags["no negative cost"] == 1.0


def test_regret_is_the_excess_of_the_layout_that_is_put_first() -> None:
    test = pd.DataFrame({"model": "a", "n_nodes": [1] * 6 + [2] * 5, "step_s": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] + [1.0] * 5})
    regrets, taus = regret_of(test, np.array([2.0, 1.0, 3.0, 4.0, 5.0, 6.0, *[0.0] * 5]))
    assert regrets.tolist() == [1.0]
    assert taus == pytest.approx([13 / 15])


@pytest.mark.data
def test_plain_rules_reach_the_published_figures(shared_data: Path) -> None:
    """Perfect scaling 11.1, 9.2, 10.2 %, as at 4 GPUs 7.2, 3.8, 1.8 %; terms without attention 8.6 % on four times the GPUs."""
    for platform, perfect, as_at_four in (("dgx1_p100", 11.1, 7.2), ("ec2_k80", 9.2, 3.8), ("gce_k80", 10.2, 1.8)):
        scores = {one.method: one.mape for one in score_machine(platform, shared_data).scores}
        assert 100 * scores[PERFECT] == pytest.approx(perfect, abs=0.06)
        assert 100 * scores[CONSTANT] == pytest.approx(as_at_four, abs=0.06)
    assert score_sharded("a100_40gb", shared_data).scores[0].mape < 0.05
