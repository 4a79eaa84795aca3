"""Partial effects are predictions: one column varies, the others stay in the middle."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.models.storage.store import ENVELOPE
from mlperf.training.table.effects import partial_effects
from mlperf.training.table.table_model import TableModel


@pytest.fixture(scope="module")
def model() -> TableModel:
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"m": rng.integers(1, 60, 200), "k": rng.uniform(1.0, 9.0, 200), "gpu": rng.choice(["A", "A", "C"], 200)})
    times = (3.0 + 0.5 * table["m"] * table["k"]) * table["gpu"].map({"A": 1.0, "C": 2.0}) * np.exp(0.03 * rng.standard_normal(200))
    return mlperf.train(
        table.assign(time_s=times), target="time_s", terms=["m*k", "gpu", "I(m*k):gpu"], method="ols", report="none"
    )


def test_effects_are_the_model_s_predictions_at_the_middle_of_the_others(model: TableModel) -> None:
    effects = partial_effects(model)
    middle = {name: values[0] if isinstance(values[0], str) else values[10] for name, values in model.profile.items()}
    assert set(effects["column"]) == {"m", "k", "gpu"}
    for row in effects.to_dict(orient="records"):
        asked = pd.DataFrame([middle | {row["column"]: row["level"] or row["value"]}])
        assert row["predicted"] == pytest.approx(model.predict(asked)[0], rel=1e-12)
        assert row["lower"] < row["predicted"] < row["upper"]
    of_gpu = effects[effects["column"] == "gpu"].set_index("level")["predicted"]
    assert of_gpu["C"] / of_gpu["A"] == pytest.approx(2.0, rel=0.05)
    assert effects.loc[effects["column"] == "m", "predicted"].is_monotonic_increasing


def test_a_stored_model_has_the_same_effects_and_an_old_one_none(model: TableModel) -> None:
    stored = json.loads(json.dumps(model.to_dict(), sort_keys=True))
    document = {key: value for key, value in stored.items() if key not in ENVELOPE}
    again = TableModel.from_dict(document)
    pd.testing.assert_frame_equal(partial_effects(again), partial_effects(model))
    assert list(again.profile) == list(model.profile)
    assert partial_effects(
        TableModel.from_dict({**{k: v for k, v in document.items() if k not in ("format", "version", "kind")}, "profile": {}})
    ).empty
