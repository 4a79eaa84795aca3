"""Every split of SIMULATED runs is trained and predicted, with kernels and without."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from mlperf.datasets import Campaign
from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.studies.judgement import judge, judge_runs
from mlperf.studies.judgement.answers import METHODS
from mlperf.studies.judgement.seen import kernels_without
from mlperf.studies.trainer import TrainerLimits
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.protocols import NODES
from mlperf.training.training import train_campaign

pytestmark = pytest.mark.slow


def test_every_split_has_every_answer(
    simulated_few: tuple[Path, Path], few_networks: Campaign, judgement_limits: TrainerLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = kernels_without(few_networks, "cnn03", time_scale=1.0)
    # No network of the runs is among those of the kernels: every split asks for the same model of them.
    trained = cache(lambda: train_campaign(seen))
    monkeypatch.setattr(judge, "train_campaign", lambda _: trained())
    both = read_runs(simulated_few)
    runs = both.where(both.table["cnn"] != "three")
    runs.table["dataset_size"] = 100_000
    found = judge_runs(runs, judgement_limits, kernels=seen, time_scale=1.0)
    counts = found.rows.groupby(["protocol", "trained_on"])["method"].agg(lambda each: set(each) == set(METHODS))
    assert len(counts) == 2 + 1 + 2
    assert counts.all()
    more = found.rows[(found.rows["protocol"] == NODES) & (found.rows["method"] == MODEL)]
    assert not more["exchange_told"].any()
    errors = found.errors[found.errors["machine"] == "all"].set_index(["protocol", "quantity", "method"])["error"]
    assert errors[NODES, "epoch_s", MODEL] < errors[NODES, "epoch_s"].drop(MODEL).min()
    assert len(found.windows) > 0
    assert found.noise["epoch_s"] > 0.0
