"""A fitted system predicts rows, says why they lie outside, and is the same after it was stored."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from mlperf.core.errors import DataError
from mlperf.training.systems import train_system as train_module
from mlperf.training.systems.step_fit import left_out_ratios
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import train_system

BUS, MEMORY = {"pcie": 3e-3, "sxm": 1e-3}, {"40": 1e-3, "80": 0.0}


def rows(*pairs: tuple[str, str], seed: int | None = None) -> pd.DataFrame:
    """A sample costs its bus and its memory; a ring and leaving the node the same for all."""
    made = pd.DataFrame(
        [(n, b, bus, memory) for (bus, memory), n, b in product(pairs, [1, 2, 4], [4, 16, 64])],
        columns=["n_nodes", "subbatch_size", "bus", "memory"],
    ).assign(n_gpus_per_node=4)
    n_gpus = 4.0 * made["n_nodes"]
    cost = made["bus"].map(BUS) + made["memory"].map(MEMORY)
    step_s = cost * made["subbatch_size"] + 4e-3 * (n_gpus - 1) / n_gpus + 2e-3 * (made["n_nodes"] > 1) + 1e-3
    noise = 1.0 if seed is None else np.exp(0.05 * np.random.default_rng(seed).standard_normal(len(made)))
    return made.assign(step_s=step_s * noise)


@pytest.fixture
def fitted() -> SystemFit:
    return train_system(rows(("pcie", "40"), ("pcie", "80"), ("sxm", "40")), factors=("bus", "memory"))


def test_levels_add_for_a_pair_that_was_never_measured(fitted: SystemFit) -> None:
    unseen = rows(("sxm", "80"))
    assert fitted.predict(unseen).step_s == pytest.approx(unseen["step_s"].to_numpy(), rel=1e-6)
    with pytest.raises(DataError, match="'nvl' for bus"):
        fitted.predict(unseen.assign(bus="nvl"))


def test_parts_add_up_and_rows_outside_are_named(fitted: SystemFit) -> None:
    asked = rows(("sxm", "40")).assign(n_nodes=[1] * 8 + [16])
    found = fitted.predict(asked)
    assert np.sum(list(found.parts_s.values()), axis=0) == pytest.approx(found.step_s)
    assert found.in_domain.tolist() == [True] * 8 + [False]
    assert "measured" in found.reason[-1]
    assert found.extrapolated.tolist() == [False] * 8 + [True]
    assert found.samples_per_s == pytest.approx(asked["subbatch_size"] * 4 * asked["n_nodes"] / found.step_s)


def test_a_stored_model_predicts_the_same(fitted: SystemFit) -> None:
    document = json.loads(json.dumps(fitted.to_dict()))
    again = SystemFit.from_dict(document)
    asked = rows(("sxm", "40"))
    assert (again.predict(asked).step_s == fitted.predict(asked).step_s).all()
    assert again.to_dict() == fitted.to_dict()
    wrong: dict[str, Any] = {**document, "terms": ["telepathy", *document["terms"][1:]]}
    with pytest.raises(DataError, match="telepathy"):
        SystemFit.from_dict(wrong)
    bounds = {name: bound for name, bound in document["bounds"].items() if name != "n_gpus"}
    with pytest.raises(DataError, match="n_gpus"):
        SystemFit.from_dict({**document, "bounds": bounds})


def test_parts_that_were_fitted_by_themselves_know_only_their_own() -> None:
    two = pd.concat([rows(("pcie", "40")), rows(("sxm", "80"))])
    apart = train_system(two, apart=["bus", "memory"])
    assert apart.parts == ("pcie | 40", "sxm | 80")
    assert apart.predict(two).step_s == pytest.approx(two["step_s"].to_numpy(), rel=1e-6)
    with pytest.raises(DataError, match=r"pcie \| 80"):
        apart.predict(rows(("pcie", "80")))
    assert "part" in apart.coefficients()


def test_intervals_hold_new_runs() -> None:
    """Twenty times the noise of a run: nearly all new rows lie inside of the 90 % interval, not all of them."""
    inside = []
    for seed in range(20):
        model = train_system(rows(("pcie", "40"), ("pcie", "80"), seed=seed), factors=("memory",))
        new = rows(("pcie", "40"), ("pcie", "80"), seed=1000 + seed)
        interval = model.predict(new, 0.9).interval
        inside.append(((interval.lower <= new["step_s"]) & (new["step_s"] <= interval.upper)).mean())
    assert 0.82 < np.mean(inside) < 0.98


def pipelined(stages: list[int], micro_batches: list[int]) -> pd.DataFrame:
    """(m + p - 1) slots of a stage's micro-batch: its parameters' work and its sums over two GPUs."""
    names = ["pipeline_parallel", "accumulation", "tensor_parallel", "subbatch_size"]
    made = pd.DataFrame(list(product(stages, micro_batches, [1, 2], [1, 4])), columns=names)
    made = made.assign(n_params=1e6, n_layers=8, width=64, sequence_length=32, n_gpus_per_node=32)
    made["n_gpus"] = made["pipeline_parallel"] * made["tensor_parallel"]
    tokens = 32 * made["subbatch_size"]
    work = 6e6 * tokens / made["n_gpus"] * 1e-10
    sums = 8 / made["pipeline_parallel"] * tokens * 64 * (made["tensor_parallel"] > 1) / 2 * 1e-7
    return made.assign(step_s=(made["accumulation"] + made["pipeline_parallel"] - 1) * (work + sums))


def test_a_pipeline_fills_with_all_that_a_pass_costs() -> None:
    """Stages and micro-batches that were never measured; the bubble is its p - 1 slots of m + p - 1."""
    model = train_system(pipelined([1, 2], [2, 4, 8]), "pipeline")
    asked = pipelined([4], [4, 16])
    found = model.predict(asked)
    assert found.step_s == pytest.approx(asked["step_s"].to_numpy(), rel=1e-6)
    slots = asked["accumulation"].to_numpy() + 3
    assert found.parts_s["bubble"] == pytest.approx(found.step_s * 3 / slots)
    assert np.sum(list(found.parts_s.values()), axis=0) == pytest.approx(found.step_s)


def networks(widths: list[int], seed: int = 0) -> pd.DataFrame:
    """Networks whose work costs up to half more or less than their parameters tell, by their width; noise of one per cent."""
    made = pd.DataFrame(list(product(widths, [1, 2, 4, 8], [2, 8])), columns=["width", "n_gpus", "subbatch_size"])
    made = made.assign(n_layers=4, n_params=48.0 * made["width"] ** 2, n_gpus_per_node=8)
    factor = made["width"].map({width: np.exp(0.4 * np.sin(9.0 * width)) for width in widths})
    noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(len(made)))
    return made.assign(step_s=(1e-6 * made["n_params"] * made["subbatch_size"] + 1e-7 * made["n_params"]) * factor * noise)


def test_the_interval_of_another_network_is_that_of_networks_left_out() -> None:
    model = train_system(networks([16, 24, 32, 48, 64, 96]))
    known, other = networks([64], seed=1), networks([40], seed=1)
    widths = [float(np.ptp(np.log(np.stack([each.lower, each.upper])), axis=0)[0]) for each in (
        model.predict(rows).interval for rows in (known, other)
    )]  # fmt: skip
    assert len(model.networks) == len(model.errors_of_networks) == 6
    wanted = model.errors_of_networks
    assert widths[1] == pytest.approx(2.0 * max(stdtrit(5, 0.975) * np.sqrt(np.mean(wanted**2)), wanted.max(), widths[0] / 2.0))
    assert widths[1] > widths[0]
    assert (
        SystemFit.from_dict(json.loads(json.dumps(model.to_dict())))
        .predict(other)
        .to_frame()
        .equals(model.predict(other).to_frame())
    )


def test_of_fewer_than_three_networks_no_interval_of_another_is_told() -> None:
    model = train_system(networks([16, 24]))
    assert model.errors_of_networks.size == 0
    assert any("fewer than three networks" in note for note in model.notes)
    assert not any("networks" in note for note in train_system(networks([16, 24, 32])).notes)


def test_many_networks_are_left_out_ten_times_not_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    monkeypatch.setattr(train_module, "left_out_ratios", lambda *given: fits.append(len(given[-1])) or left_out_ratios(*given))
    model = train_system(networks(list(range(8, 408, 8))))
    assert len(model.errors_of_networks) == 50
    assert set(fits) == {1, 10}
