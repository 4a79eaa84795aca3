"""Parts of steps as a model: the same steps as the parts by themselves, bit for bit from a file, and what lies outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.studies.model_files import load_model, save_model
from mlperf.training.systems import parts_model
from mlperf.training.systems.parts_model import PartsModel, train_parts
from mlperf.training.systems.step_parts import train_composed

from .test_step_parts import made_exchange, made_runs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def two_folds() -> Iterator[None]:
    """Errors of left-out steps from two folds rather than four."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts_model, "N_FOLDS", 2)
        yield


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return made_runs((1, 2)).assign(engine="numpy+mpi")


@pytest.fixture(scope="module")
def model(runs: pd.DataFrame) -> PartsModel:
    return train_parts(runs, made_exchange())


def test_the_model_says_what_its_parts_say_and_so_does_its_file(model: PartsModel, runs: pd.DataFrame, tmp_path: Path) -> None:
    asked = made_runs((4,))
    found = model.predict(asked)
    np.testing.assert_array_equal(found.step_s, train_composed(runs, made_exchange()).predict(asked)["step_s"].to_numpy())
    np.testing.assert_allclose(sum(found.parts_s.values()), found.step_s, rtol=1e-12)
    assert model.mape < 0.06
    assert found.extrapolated.all()
    assert set(found.reason) == {"processes 4, measured 1 to 2"}
    save_model(model, tmp_path / "parts.json")
    np.testing.assert_array_equal(load_model(tmp_path / "parts.json").predict(asked).step_s, found.step_s)


def test_two_kinds_of_runs_are_fitted_apart_or_refused() -> None:
    runs = made_runs((1, 2), batches=(4, 8, 16))
    runs = runs[runs["cnn"] == "a"]
    slow = runs.assign(mode="emulated", **{name: 2.0 * runs[name] for name in runs if name.endswith("_s")})
    both = pd.concat([runs, slow], ignore_index=True)
    with pytest.raises(DataError, match="mode emulated, real"):
        train_parts(both, made_exchange())
    model = train_parts(both, made_exchange(), apart=("mode",))
    ratio = model.predict(slow).parts_s["compute"] / model.predict(runs).parts_s["compute"]
    np.testing.assert_allclose(ratio, 2.0, rtol=1e-3)


def test_rows_need_the_columns_of_runs(model: PartsModel) -> None:
    with pytest.raises(DataError, match="size_bytes"):
        model.predict(made_runs((1,)).drop(columns="size_bytes"))
