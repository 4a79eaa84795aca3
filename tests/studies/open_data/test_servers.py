"""Tasks on servers: what an exact queue scores, and the published figures of the plain methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.studies.open_data.servers import CONSTANT, EXPONENTIAL, PERFECT, QUEUE, score_checkpoints, score_counts, score_unseen
from mlperf.systems.coupling.queues import closed_queue

pytestmark = pytest.mark.slow

NETWORKS = {"a": (0.1, 1e6, 50), "b": (0.3, 4e6, 60), "c": (0.2, 2e6, 200)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Speeds of an exact queue with S = 1e-8 parameters + 1e-4 tensors, and checkpoints at 2 s + 0.05 s/MB."""
    (tmp_path / "cmdare").mkdir()
    speeds, single = [], []
    for name, (think, params, tensors) in NETWORKS.items():
        single.append({"device": "P100", "network": name, "n_params": params, "n_tensors": tensors})
        for n_workers in range(1, 9):
            speed = float(closed_queue(think, 1e-8 * params + 1e-4 * tensors, n_workers).throughput_per_s)
            speeds.append({"device": "P100", "network": name, "n_workers": n_workers, "steps_per_s_median": speed})
    sizes = np.repeat([5.0, 20.0, 60.0, 100.0], 3)
    checkpoints = pd.DataFrame({"network": np.repeat(list("abcd"), 3), "checkpoint_mb": sizes, "checkpoint_s": 2.0 + 0.05 * sizes})
    for table, rows in (
        ("cluster_speed", pd.DataFrame(speeds)),
        ("single_worker", pd.DataFrame(single)),
        ("checkpoints", checkpoints),
    ):
        rows.to_csv(tmp_path / "cmdare" / f"{table}.csv", index=False)
    return tmp_path


def test_an_exact_queue_is_told_exactly_and_rules_of_thumb_are_not(folder: Path) -> None:
    counts = {one.method: one for one in score_counts("P100", folder).scores}
    unseen = {one.method: one for one in score_unseen("P100", folder).scores}
    assert (counts[QUEUE].n_test, unseen[QUEUE].n_test) == (15, 21)
    for found in (counts, unseen):
        assert found[QUEUE].max < 1e-3
        assert found[PERFECT].mape > 0.05
        assert found[CONSTANT].mape > 0.05
    checkpoints = {one.method: one for one in score_checkpoints("", folder).scores}
    assert checkpoints["a + b MB"].max < 1e-6
    assert checkpoints["in proportion to MB"].mape > 0.1


def test_saturation_is_reported(folder: Path) -> None:
    notes = score_counts("P100", folder).notes
    assert "P100, a: think time 100.0 +- 0.0 ms, service 15.00 +- 0.00 ms, the server is full from 7.7 workers on" in notes


def test_plain_methods_reach_the_published_figures(shared_data: Path) -> None:
    """Constant and exponential service 4.2 and 5.1 % on P100, 1.0 % on K80; a network left out 7.3, 6.5 and 10 % at most."""
    found = {device: {one.method: one.mape for one in score_counts(device, shared_data).scores} for device in ("P100", "K80")}
    assert 100 * found["P100"][QUEUE] == pytest.approx(4.2, abs=0.06)
    assert 100 * found["P100"][EXPONENTIAL] == pytest.approx(5.1, abs=0.06)
    assert 100 * found["K80"][QUEUE] == pytest.approx(1.0, abs=0.06)
    assert 100 * found["K80"][PERFECT] == pytest.approx(2.1, abs=0.06)
    (linear,) = [one.mape for one in score_unseen("P100", shared_data).scores if one.method == PERFECT]
    assert 100 * linear == pytest.approx(34.0, abs=0.06)
    scores = {one.method: one for one in score_checkpoints("", shared_data).scores}
    assert 100 * scores["a + b MB, OLS"].mape == pytest.approx(7.8, abs=0.2)
