"""Constants of an invented machine."""

from __future__ import annotations

import pytest
from planted_constants import planted_model

from mlperf.training.systems.constants_model import ConstantsModel


@pytest.fixture(scope="session")
def fit() -> ConstantsModel:
    """The same cost for every pass and working set; two processes take a tenth longer."""
    return planted_model()
