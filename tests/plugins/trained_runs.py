"""The bundled runs of five networks, and the model that they make: trained once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import mlperf
from mlperf.datasets import Campaign, read_campaign

if TYPE_CHECKING:
    from made_once import Once

    from mlperf.training.model import Model


@pytest.fixture(scope="session")
def runs_campaign() -> Campaign:
    return read_campaign("asgd-networks")


@pytest.fixture(scope="session")
def runs_model(runs_campaign: Campaign, made_once: Once) -> Model:
    model: Model = made_once("runs-model", lambda: mlperf.train(runs_campaign))
    return model
