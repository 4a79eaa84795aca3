"""Epochs to an accuracy on numbers of nodes that were not fitted, and on real runs, held to what is asked and to what is missed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlperf.datasets import bundled_names, load_campaign
from mlperf.training.quality import QualityModel, fit_quality, fit_quality_table
from mlperf.training.quality.epochs import quality_rows
from mlperf.training.quality.judgement import LIMIT, log_errors

pytestmark = pytest.mark.slow

LIMITS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "learning_quality.toml").read_text(encoding="utf-8"))
TARGET = 0.9
SAME = 0.1
"""Relative difference that other versions of the packages may make of a missed value."""


@pytest.fixture(scope="module")
def models() -> dict[str, QualityModel]:
    names = load_campaign("asgd-quality").table("learning")["data"].unique()
    return {str(name): fit_quality(["asgd-quality"], TARGET, data=str(name)) for name in names}


def test_every_bundled_data_set_and_real_campaign_is_asked_about(models: dict[str, QualityModel]) -> None:
    assert sorted(models) == sorted(LIMITS["left_out_nodes"])
    assert sorted(LIMITS["real"]) == sorted({"asgd-digits", "asgd-delayed"} & {*bundled_names()})


def test_staleness_does_not_follow_nodes(models: dict[str, QualityModel]) -> None:
    """What the runs were made for: in those of the trainer the correlation is -0.98."""
    for model in models.values():
        rows = model.rows
        assert abs(np.corrcoef(np.log1p(rows["staleness"]), rows["n_nodes"])[0, 1]) < 0.2
        assert abs(np.corrcoef(np.log1p(rows["staleness"]), np.log(rows["mean_minibatch_size"]))[0, 1]) < 0.7


@pytest.mark.parametrize("name", LIMITS["left_out_nodes"])
def test_left_out_numbers_of_nodes_are_told(models: dict[str, QualityModel], name: str) -> None:
    """A model that is off by more than the limit says that it is experimental; none says so without being off."""
    judgement = models[name].judgement
    assert judgement is not None
    assert sorted(judgement.by_nodes["n_nodes"]) == [1, 2, 4]
    limit, missed = LIMITS["left_out_nodes"][name], LIMITS["missed"].get(f"{name}, nodes left out")
    if missed is None:
        assert judgement.factor <= limit
    else:
        assert limit < judgement.factor == pytest.approx(missed, rel=SAME)
    assert (models[name].experimental is None) == (judgement.factor <= LIMIT)


def test_real_runs_are_told_or_missed_as_is_said(models: dict[str, QualityModel]) -> None:
    """Real threads and locks, asked of the model that knows none; runs that ended early count with what their end proves."""
    for campaign, limits in LIMITS["real"].items():
        rows = quality_rows([load_campaign(campaign)], TARGET, "digits")
        said = models["digits"].epochs(
            *(rows[name].to_numpy(float) for name in ("mean_minibatch_size", "staleness", "subbatch_size"))
        )
        logs = np.log(rows["epochs_to_target"].fillna(rows["n_epochs"]).to_numpy(float))
        errors = log_errors(np.log(said), logs, rows["epochs_to_target"].isna().to_numpy())
        for nodes, limit in limits.items():
            factor = np.exp(errors[rows["n_nodes"].to_numpy(int) == int(nodes)].mean())
            missed = LIMITS["missed"].get(f"{campaign}, {nodes} nodes")
            if missed is None:
                assert factor <= limit, (campaign, nodes)
            else:
                assert limit < factor == pytest.approx(missed, rel=SAME), (campaign, nodes)


def test_dropping_censored_runs_would_flatter_large_minibatches(models: dict[str, QualityModel]) -> None:
    """Where the rows end, a fit on the runs that made it says fewer epochs than one that knows the others."""
    model = models["digits"]
    made = model.rows[model.rows["epochs_to_target"].notna()]
    assert len(made) < len(model.rows)
    dropped = fit_quality_table(made, TARGET)
    cut = model.rows[model.rows["epochs_to_target"].isna()]
    at = [cut[name].to_numpy(float) for name in ("mean_minibatch_size", "staleness", "subbatch_size")]
    assert np.log(dropped.epochs(*at)).mean() < np.log(model.epochs(*at)).mean()
