"""The component table of SPRINT as a system is that of the paper."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.system import SPRINT, SprintSystem


def test_components_are_tables_3_and_4() -> None:
    found = {component.name: component for component in SPRINT.components}
    for row in COMPONENTS:
        assert found[row.name].activity == row.activity
        assert found[row.name].kind == row.kind
        assert found[row.name].candidates == row.terms


def test_screening_leaves_out_what_nobody_asks() -> None:
    """The cheaper equations give the same periods to a billionth, and the staleness only where a window asks for it."""
    rng = np.random.default_rng(3)
    run = {
        "n_nodes": rng.integers(1, 30, 200),
        "n_gpus_per_node": rng.integers(1, 5, 200),
        "subbatch_size": rng.integers(1, 9, 200),
        "dataset_size": np.full(200, 50_000),
    }
    run = {name: values.astype(float) for name, values in run.items()}
    times = {row.name: rng.lognormal(-4.0, 1.0, 200) for row in COMPONENTS if row.kind != "coupling"}
    times["gpu_work_std"] = 0.05 * times["compute_gradient"]
    exact = SprintSystem("second_moment").solve(times, run).outputs
    screened = SPRINT.screen(("epoch_s", "mean_minibatch_size")).solve(times, run).outputs
    assert "mean_staleness" not in screened
    for name, values in screened.items():
        assert values == pytest.approx(exact[name], rel=1e-7)
    assert not SPRINT.screen(("epoch_s",)).solve(times, run).breakdown_s
    asked = SPRINT.screen(("epoch_s", "mean_staleness")).solve(times, run).outputs
    assert asked["mean_staleness"] == pytest.approx(exact["mean_staleness"], rel=1e-6)
