"""Flags of one system are refused by the others; models of a system's own table are told from all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.cli.framework.systems import digests_of, is_fitted, read_exchange, refuse_of_sprint, refuse_of_systems
from mlperf.core.errors import DataError, UsageError
from mlperf.training.systems.train_system import train_system


@pytest.fixture
def fitted() -> Any:
    nodes = np.array([1, 2, 4, 8])
    return train_system(pd.DataFrame({"n_gpus": nodes, "subbatch_size": 2 * nodes, "step_s": 0.1 * nodes}))


def test_a_model_of_own_steps_is_told_from_that_of_a_campaign(fitted: Any, small_model: Any) -> None:
    assert is_fitted(fitted)
    assert not is_fitted(small_model)
    assert digests_of(small_model) == small_model.provenance["data_sha256"]


def test_flags_of_other_systems_are_refused() -> None:
    refuse_of_sprint({"--simulate": False, "--refine": None}, "pipeline")
    with pytest.raises(UsageError, match="got --simulate with --system pipeline"):
        refuse_of_sprint({"--refine": None, "--simulate": True}, "pipeline")
    refuse_of_systems((), None)
    with pytest.raises(UsageError, match="got --set stages"):
        refuse_of_systems((("stages", (2.0,)),), None)
    with pytest.raises(UsageError, match="got --exchange"):
        refuse_of_systems((), Path("exchange.json"))


def test_an_exchange_is_read_from_its_own_kind_of_file(small_model: Any, tmp_path: Path) -> None:
    import mlperf

    assert read_exchange(None) is None
    mlperf.save_model(small_model, tmp_path / "model.json")
    with pytest.raises((DataError, UsageError)):
        read_exchange(tmp_path / "model.json")
