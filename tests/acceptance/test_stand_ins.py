"""How far off kernels are that stand in for others, and the steps made of them, where all of them were measured: on a processor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mlperf
from mlperf.datasets import read_campaign
from mlperf.features.network.layer_terms import STANDING_IN, STANDING_IN_SPREAD, fitted_kernels
from mlperf.planning.compare import compare_runs
from mlperf.training.gradient.gradient import PREDICTOR
from mlperf.training.gradient.gradient_data import gradient_data
from mlperf.training.model import Model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def known() -> Model:
    return mlperf.load_model("cpu-xeon-layers")


def test_the_spread_is_that_of_kernels_that_were_measured(known: Model) -> None:
    """Each kernel that others stand in for, predicted by what does, over what its calls took together."""
    calls = gradient_data(read_campaign("cpu-xeon-layers"), None).calls
    kernels = fitted_kernels(calls)
    off = {}
    for kernel, instead in STANDING_IN.items():
        rows = calls[kernels == kernel]
        if len(rows):
            off[kernel] = known.gradient.kernels[instead[-1]][PREDICTOR].predict(rows).sum() / rows["time_s"].sum()
    assert len(off) == 22
    spread = np.sqrt(np.mean(np.square(np.log(list(off.values())))))
    assert spread == pytest.approx(STANDING_IN_SPREAD, abs=0.05)
    assert min(off.values()) == off["select_token_backward"] == pytest.approx(0.12, abs=0.01)
    assert max(off.values()) == off["depthwise_conv_forward"] == pytest.approx(3.9, abs=0.1)


def test_steps_are_nearly_as_near_by_kernels_that_stand_in(known: Model) -> None:
    """Networks of today, the kernels that no campaign of plain networks measures taken away: none of them was trained on."""
    kernels = {name: fits for name, fits in known.gradient.kernels.items() if name not in STANDING_IN}
    plain = replace(known, gradient=replace(known.gradient, kernels=kernels))
    whole, stood_in = (compare_runs(model, read_campaign("cpu-xeon-zoo")).table for model in (known, plain))
    today = whole["predicted"].to_numpy() != stood_in["predicted"].to_numpy()
    measured, errors = whole.loc[today], [table.loc[today, "relative_error"].abs() for table in (whole, stood_in)]
    assert set(measured["cnn"]) >= {"vit_b_16", "convnext_tiny", "efficientnet_b0", "mobilenet_v3_large", "mobilenet_v2"}
    assert errors[0].mean() < errors[1].mean() < errors[0].mean() + 0.05
    assert errors[1].max() < 0.3
    assert not stood_in.loc[today, "in_domain"].any()
    assert stood_in.loc[today, "inside"].all()
