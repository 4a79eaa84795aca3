"""Bytes that were put in come out; layouts that pass the memory, or have no layer for a stage, are told to fail, and why."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, FitError
from mlperf.training.systems.memory_fit import fit_memory, is_thin, layout_sizes, memory_columns, surprise_near

pytestmark = pytest.mark.slow

DEVICE = 80e9
PLANTED = {"fixed": 5e8, "weights": 6.0, "state": 12.0, "activations": 40.0, "outputs": 2e5}


def layouts() -> pd.DataFrame:
    rows = []
    for params, tensor, stages, replicas, batch, zero in product((1e9, 4e9), (1, 2, 4), (1, 2, 8, 16), (1, 4), (1, 4, 16), (0, 1)):
        shape = {"n_params": params, "n_layers": 16 if params == 1e9 else 32, "width": 2048 if params == 1e9 else 3072}
        sizes = {"tensor_parallel": tensor, "pipeline_parallel": stages, "n_gpus": tensor * stages * replicas}
        rows.append({**shape, **sizes, "n_gpus_per_node": 8, "zero_stage": zero, "subbatch_size": batch, "accumulation": 8})
    return pd.DataFrame(rows).assign(sequence_length=4096)


def planted_bytes(rows: pd.DataFrame) -> np.ndarray:
    """Written out by hand: 16-bit weights and 32-bit gradients, ZeRO 1, 1F1B holding min(m, p) micro-batches on the first stage."""
    t, p = rows["tensor_parallel"], rows["pipeline_parallel"]
    own = rows["n_params"] / (t * p)
    replicas = rows["n_gpus"] / (t * p)
    tokens = rows["subbatch_size"] * 4096
    kept = tokens * rows["width"] * rows["n_layers"] / p * np.minimum(8, p) / t
    shards = np.where(rows["zero_stage"] > 0, replicas, 1)
    return (5e8 + 6 * own + 12 * own / shards + 40 * kept + 2e5 * tokens / t).to_numpy(float)


def test_bytes_that_were_put_in_come_out() -> None:
    rows = layouts()
    needed = planted_bytes(rows)
    model = fit_memory(rows, needed > DEVICE, needed, DEVICE)
    assert model.costs == pytest.approx({**dict.fromkeys(memory_columns(rows), 0.0), **PLANTED}, rel=1e-6, abs=1e-3)
    np.testing.assert_allclose(model.needed_bytes(rows), needed, rtol=1e-6)
    assert model.capacity == pytest.approx(1.0, abs=0.1)
    assert ((model.failure(rows) > 0.5) == (needed > DEVICE)).mean() > 0.97


def test_a_stage_without_a_layer_is_refused_and_so_is_what_does_not_fit() -> None:
    rows = layouts()
    needed = planted_bytes(rows)
    thin = ((rows["pipeline_parallel"] >= rows["n_layers"]) & (rows["pipeline_parallel"] > 1)).to_numpy()
    assert (is_thin(rows) == thin).all()
    failed = (needed > DEVICE) | thin
    model = fit_memory(rows, failed, needed, DEVICE)
    assert model.thin_rate > 0.9 > 0.1 > model.other_rate
    reasons = model.refusal(rows)
    assert {reasons[place] for place in np.flatnonzero(thin)} == {"no more layers than pipeline stages"}
    far = int(np.argmax(np.where(thin, 0.0, needed)))
    assert "GB needed" in reasons[far]
    assert reasons[int(np.argmin(np.where(thin, np.inf, needed)))] == ""


def test_neighbours_correct_only_among_measured_layouts() -> None:
    """Layouts of one shape crash for a reason that no term knows; those next to them are told so, larger networks are not."""
    rows = layouts()
    needed = planted_bytes(rows)
    odd = ((rows["tensor_parallel"] == 4) & (rows["zero_stage"] == 0)).to_numpy()
    failed = (needed > DEVICE) | odd
    model = fit_memory(rows, failed, needed, DEVICE)
    assert model.neighbours > 0
    right = ((model.failure(rows) > 0.5) == failed).mean()
    assert right > ((model.physical_failure(rows) > 0.5) == failed).mean() + 0.05
    larger = rows.assign(n_params=2.0 * rows["n_params"])
    far = (larger["n_params"] > rows["n_params"].max()).to_numpy()
    assert not model.in_domain(larger)[far].any()
    np.testing.assert_array_equal(model.failure(larger)[far], model.physical_failure(larger)[far])


def test_the_nearest_layouts_by_hand() -> None:
    known, surprises = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 0.0, -1.0])
    # Squared distances 0.25 and 0.25: weights 0.8 each, and 0.4 for the physical probability.
    found = surprise_near(np.array([[0.5]]), known, surprises, 2, 0.4)
    assert found == pytest.approx([0.8 / 2.0])


def test_what_cannot_be_fitted_is_told() -> None:
    rows = layouts()
    with pytest.raises(FitError, match="rows that ran"):
        fit_memory(rows, np.ones(len(rows), bool), planted_bytes(rows), DEVICE)
    with pytest.raises(DataError, match="n_layers"):
        memory_columns(rows.drop(columns="n_layers"))
    assert layout_sizes(rows).shape == (len(rows), 8)
