"""Composed steps find again what runs were made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.training.collectives.train_exchange import train_exchange
from mlperf.training.systems.step_parts import excess_of, isolated_s, train_component, train_composed

pytestmark = pytest.mark.slow

SIZES = {"a": 4e5, "b": 4e6}
EXCESS_S_PER_BYTE = 5e-11
COLDER_S_PER_BYTE = 1e-9
"""A byte after one second; after a hundredth a tenth of it."""


def exchange_of(n_gpus, size_bytes):
    """A ring of 20 us and 8 GB/s."""
    return 2.0 * (n_gpus - 1.0) * (2e-5 + size_bytes / (n_gpus * 8e9))


def made_runs(counts: tuple[int, ...] = (1, 2, 4), batches: tuple[int, ...] = (4, 8, 16, 32), seed: int = 0) -> pd.DataFrame:
    """Compute grows with the batch, and by a fifth with every further process; noise of 1 %; three repeats."""
    rng = np.random.default_rng(seed)
    rows = []
    for cnn, n, batch, repeat in ((c, n, b, r) for c in SIZES for n in counts for b in batches for r in range(3)):
        noise = float(np.exp(0.01 * rng.standard_normal()))
        forward = (2e-4 + 1e-4 * batch) * (1.0 + 0.2 * (n - 1)) * noise * (2.0 if cnn == "b" else 1.0)
        parts = {"input_s": 1e-5 * batch, "forward_s": forward, "backward_s": 2.0 * forward, "optimizer_s": 1e-4}
        excess = EXCESS_S_PER_BYTE + COLDER_S_PER_BYTE * np.sqrt(sum(parts.values()))
        parts["exchange_s"] = (exchange_of(float(n), SIZES[cnn]) + excess * SIZES[cnn]) * (n > 1)
        setting = {"mode": "real", "cnn": cnn, "n_nodes": 1, "n_gpus_per_node": n, "subbatch_size": batch, "repeat": repeat + 1}
        fixed = {"overlap": 0, "input_overlap": 0, "dataset_size": 1000, "size_bytes": SIZES[cnn], "step_std_s": 1e-5}
        rows.append(setting | fixed | parts | {"step_s": sum(parts.values()) + 1e-5 * (n > 1)})
    return pd.DataFrame(rows)


def made_exchange() -> pd.DataFrame:
    n, size = (each.ravel() for each in np.meshgrid([2.0, 3.0, 4.0], 2.0 ** np.arange(12, 25, 2)))
    return pd.DataFrame({"n_nodes": 1, "n_gpus_per_node": n, "size_bytes": size, "exchange_s": exchange_of(n, size)})


def test_more_processes_and_other_batches_are_predicted() -> None:
    runs = made_runs()
    model = train_composed(runs[runs["n_gpus_per_node"] <= 2], made_exchange())
    left = runs[runs["n_gpus_per_node"] == 4]
    found = model.predict(left)
    assert model.excess_s_per_byte == pytest.approx((EXCESS_S_PER_BYTE, COLDER_S_PER_BYTE), rel=0.1)
    assert found["exchange_s"].to_numpy() == pytest.approx(left["exchange_s"].to_numpy(), rel=0.03)
    assert found["step_s"].to_numpy() == pytest.approx(left["step_s"].to_numpy(), rel=0.05)
    other = made_runs((1, 2), (12, 24), seed=1)
    assert model.predict(other)["step_s"].to_numpy() == pytest.approx(other["step_s"].to_numpy(), rel=0.06)
    assert (found[["exchange_s", "straggler_s", "compute_s"]].sum(axis=1) - found["step_s"]).abs().max() < 1e-12


def test_a_network_known_on_one_process_is_predicted_on_two() -> None:
    runs = made_runs((1, 2))
    fitted = runs[(runs["cnn"] == "a") | (runs["n_gpus_per_node"] == 1)]
    left = runs[(runs["cnn"] == "b") & (runs["n_gpus_per_node"] == 2)]
    found = train_composed(fitted, made_exchange()).predict(left)
    assert found["step_s"].to_numpy() == pytest.approx(left["step_s"].to_numpy(), rel=0.05)


def test_what_several_processes_do_to_each_other_must_have_been_run() -> None:
    runs = made_runs((1, 2))
    with pytest.raises(DataError, match="runs of 1 processes, expected runs of one and of several"):
        train_composed(runs[runs["n_gpus_per_node"] == 1], made_exchange())
    with pytest.raises(DataError, match="got 2 runs of a on one process, expected at least 3"):
        train_composed(
            pd.concat([runs[runs["n_gpus_per_node"] == 2], runs[runs["n_gpus_per_node"] == 1].iloc[:2]]), made_exchange()
        )
    component = train_component("forward_s", runs[runs["cnn"] == "a"])
    with pytest.raises(DataError, match="'b'"):
        component.predict(runs[runs["cnn"] == "b"])


def test_isolated_exchanges_are_asked_by_participants() -> None:
    assert isolated_s(train_exchange(made_exchange()), made_runs((1,))).tolist() == [0.0] * 24


def test_a_cost_that_grows_with_the_period_is_not_told_by_one_period() -> None:
    runs = made_runs((2,), batches=(8,))
    alike = runs.assign(forward_s=1e-3, backward_s=2e-3)[runs["cnn"] == "a"]
    constant, growing = excess_of(alike, alike["exchange_s"].to_numpy() / 2.0)
    assert growing == 0.0
    assert constant * SIZES["a"] == pytest.approx(float((alike["exchange_s"] / 2.0).iloc[0]), rel=0.05)
