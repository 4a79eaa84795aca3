"""Every flag of a system's prediction that was measured has a reason, and says what share of which period it weighs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.planning.systems.outside import share_of_periods
from mlperf.specs import JobSpec, load_machine

pytestmark = pytest.mark.slow

JOB = JobSpec(60_000, n_nodes=4)


@pytest.fixture(scope="module")
def ask(small_model: Any) -> Any:
    def asked(system: str, cnn: Any = ("alexnet", "resnet18"), machine: Any = "cpu-cluster", **sizes: Any) -> Any:
        return mlperf.predict_system(small_model, system, cnn, machine, JOB, n_draws=20, **sizes)

    return asked


@pytest.mark.parametrize("system", ["data-parallel", "parameter-server", "sprint-server", "sprint"])
def test_every_flag_has_a_reason_and_every_reason_a_flag(ask: Any, system: str) -> None:
    found = ask(system, subbatch_size=(2, 64))
    parts = [name for name in found.source if name not in found.left_out]
    flagged = {(row, name) for name in parts for row in np.flatnonzero(~found.in_domain[name])}
    assert flagged
    assert set(zip(found.outside["configuration"], found.outside["component"], strict=True)) == flagged
    assert found.outside["share"].between(0.0, 1.0).all()


def test_both_passes_of_a_step_tell_of_the_same_calls(ask: Any) -> None:
    table = ask("data-parallel", "resnet18", subbatch_size=64).outside.set_index("component")
    assert table.loc[["forward"], "why"].tolist() == table.loc[["backward"], "why"].tolist()
    sizes = table[table["column"] != ""]
    assert ((sizes["value"] < sizes["lower"]) | (sizes["value"] > sizes["upper"])).all()


def test_sprint_as_a_system_tells_what_predict_epoch_does(small_model: Any, ask: Any) -> None:
    own = mlperf.predict_epoch(small_model, "resnet18", "cpu-cluster", JOB, subbatch_size=64, n_draws=20).outside
    told = ask("sprint", "resnet18", subbatch_size=64).outside
    columns = ["component", "kernel", "layer", "value", "share", "why"]
    pd.testing.assert_frame_equal(told[columns], own[columns])


def test_another_processor_is_the_one_reason(ask: Any) -> None:
    machine = replace(load_machine("cpu-cluster"), processor="Tesla K80")
    table = ask("data-parallel", "alexnet", machine).outside
    assert table["component"].tolist() == ["all"]
    assert "Tesla K80" in table["why"].iloc[0]


def test_a_single_worker_needs_no_exchange(ask: Any) -> None:
    alone, together = (ask("data-parallel", "alexnet", n_nodes=nodes, n_gpus_per_node=1) for nodes in (1, [1, 2]))
    assert (alone.source["exchange"], alone.assumed) == ("not needed", ())
    assert together.source["exchange"] == "assumed"
    assert alone.outputs["step_s"][0] == together.outputs["step_s"][0]


def test_a_component_weighs_by_the_period_in_which_it_weighs_most() -> None:
    periods = {"worker": {"push": np.array([1.0, 0.0]), "compute": np.array([3.0, 0.0])}, "server": {"push": np.array([1.0, 2.0])}}
    assert share_of_periods(periods, ["push"]).tolist() == [1.0, 1.0]
    assert share_of_periods(periods, ["compute", "push"]).tolist() == [1.0, 1.0]
    assert share_of_periods(periods, ["compute"]).tolist() == [0.75, 0.0]


def test_one_node_exchanges_with_servers_that_stand_apart(ask: Any) -> None:
    found = ask("sprint-server", "alexnet", n_nodes=1)
    assert found.breakdown_s["update"]["allreduce"][0] > 0.0
    assert (found.source["allreduce"], found.in_domain["allreduce"].tolist()) == ("assumed", [False])
