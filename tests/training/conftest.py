"""The bundled runs of five networks, and the model that they make: trained once."""

from __future__ import annotations

import pytest

import mlperf
from mlperf.datasets import Campaign, read_campaign
from mlperf.training.model import Model


@pytest.fixture(scope="session")
def runs_campaign() -> Campaign:
    return read_campaign("asgd-networks")


@pytest.fixture(scope="session")
def runs_model(runs_campaign: Campaign) -> Model:
    return mlperf.train(runs_campaign)
