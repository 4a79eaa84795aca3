"""Counters of library layers as candidate terms: what is offered, learnt and refused, and how unseen networks get theirs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf import load_model, save_model, train
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import Campaign, read_campaign
from mlperf.features.network_engine import SETS
from mlperf.specs import CnnSpec
from mlperf.studies.gain import characteristic_gain
from mlperf.training.characteristics.description import counters_of
from mlperf.training.characteristics.stored import RUN, SIZES, SURROGATE
from mlperf.training.gradient.gradient import step_times
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics, terms_of
from mlperf.training.gradient.gradient_data import gradient_data
from mlperf.training.model import Model
from mlperf.training.with_counters import with_counters

pytestmark = pytest.mark.slow

LEFT = "cnn05"
STEP = ["cnn", "subbatch_size"]


@pytest.fixture(scope="module")
def whole() -> Campaign:
    return read_campaign("cpu-xeon-torch")


@pytest.fixture(scope="module")
def few(whole: Campaign) -> Campaign:
    """Eight plain networks at two sub-batch sizes, one of them for predictions."""
    names = [f"cnn{number:02}" for number in range(8)]
    rows = {name: getattr(whole, name) for name in ("kernels", "steps")}
    tables = {
        name: table[table["cnn"].isin(names) & table["subbatch_size"].isin([1, 2])].reset_index(drop=True)
        for name, table in rows.items()
    }
    return replace(whole, cnns={name: whole.cnns[name] for name in names}, **tables)


@pytest.fixture(scope="module")
def counters(few: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Instructions that are proportional to measured times but for 2 %, and rows of another backend, which nobody may take."""
    calls = gradient_data(few, None).calls
    noisy = calls["time_s"] * np.random.default_rng(0).lognormal(sigma=0.02, size=len(calls))
    oracle = calls[[*STEP, "kernel", "layer"]].assign(backend="torch", hw_instructions=1e9 * noisy, sw_page_faults=0.0)
    path = tmp_path_factory.mktemp("counters") / "oracle.csv"
    pd.concat([oracle.assign(backend="other", hw_instructions=1.0), oracle]).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def trained(few: Campaign, counters: Path) -> Model:
    return train(few, characteristics=("dwc-b",), counters=counters, leave_out=(LEFT,), n_folds=2, scored=False)


def step_s(model: Model, cnn: CnnSpec, method: str) -> float:
    calls = model.gradient.calls([(cnn, 2)])
    return float(step_times(calls, model.gradient.call_times(calls, method))[0])


def test_every_library_call_is_offered_its_counters(few: Campaign, counters: Path) -> None:
    data = gradient_data(few, None)
    further = GradientCharacteristics.of(few, data, ("dwc-b",), counters)
    assert terms_of(further.sets, further.data.calls) == (("hw_instructions", "sw_page_faults"),) * 2
    np.testing.assert_allclose(further.data.calls["hw_instructions"], 1e9 * data.calls["time_s"], rtol=0.1)
    for kernel in ("conv_forward", "conv_backward", "fc_forward", "activation_backward", "softmax"):
        assert "hw_instructions" in further.table["linear"].maker(kernel)(0).terms
        learnt = further.table["learnt"].maker(kernel)(0)
        assert "hw_instructions" in learnt.base.terms
        assert "hw_instructions" in learnt.columns


def test_a_counter_that_is_the_time_leaves_what_the_calls_do_not_add_up_to(few: Campaign, tmp_path: Path) -> None:
    """A step runs by autograd and its calls one by one; models of counters on sizes know no more than sizes."""
    data = gradient_data(few, None)
    exact = data.calls.assign(backend="torch", hw_instructions=1e9 * data.calls["time_s"])
    exact[[*STEP, "kernel", "layer", "backend", "hw_instructions"]].to_csv(tmp_path / "exact.csv", index=False)
    found = characteristic_gain(few, ("dwc-b",), counters=tmp_path / "exact.csv", n_folds=4).table.set_index("counters_from")
    runs = data.steps.set_index(STEP).assign(run=range(len(data.steps)))
    calls = data.calls.join(runs["run"], on=STEP)
    ratio = data.gaps.step_times(calls, calls["time_s"].to_numpy()) / runs["step_s"]
    alone = calls.groupby("run")["time_s"].sum().to_numpy() / runs["step_s"]
    # Gaps of a fold are learnt without the networks left out: they fit worse than those of all, and better than none.
    assert (ratio - 1.0).abs().mean() < found.loc[RUN, "mape"] < 0.6 * (alone - 1.0).abs().mean()
    assert found.loc[RUN, "mape"] < 0.5 * found.loc["", "mape"]
    assert found.loc[SIZES, "mape"] == pytest.approx(found.loc["", "mape"], rel=1e-6)


@pytest.mark.parametrize("method", ["linear", "learnt"])
def test_an_unseen_network_on_a_library_needs_a_run_or_models_of_its_counters(
    trained: Model, few: Campaign, counters: Path, method: str
) -> None:
    unseen = few.cnns[LEFT]
    with pytest.raises(DataError, match="hw_instructions"):
        step_s(trained, unseen, method)
    measured = few.steps.query("cnn == @LEFT and subbatch_size == 2")["step_s"].median()
    own = counters_of(pd.read_csv(counters), "torch", "table").query("cnn == @LEFT")
    counted = replace(trained.gradient.characteristics, counters=own, counters_from=RUN)
    by_run = replace(trained, gradient=replace(trained.gradient, characteristics=counted))
    # The chain call by call against the step by autograd.
    assert step_s(by_run, unseen, method) == pytest.approx(measured, rel=0.15)
    stand_in = with_counters(trained, [unseen], 2, SURROGATE)
    assert stand_in.gradient.characteristics.source == SIZES
    assert step_s(stand_in, unseen, method) == pytest.approx(measured, rel=0.5)


def test_a_stored_model_of_library_counters_answers_the_same(trained: Model, few: Campaign, tmp_path: Path) -> None:
    save_model(trained, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.gradient.characteristics.description is None
    one, other = (with_counters(model, [few.cnns[LEFT]], 2, SURROGATE) for model in (trained, again))
    for method in ("linear", "learnt"):
        assert step_s(one, few.cnns[LEFT], method) == step_s(other, few.cnns[LEFT], method)


def test_a_short_run_of_library_layers_is_counted_by_the_backend_of_the_model(
    trained: Model, few: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from mlperf.collect.counters import kernel_counters, perf_event

    # The clock of the task is a software event, which machines without hardware events count as well.
    events = {"hw_instructions": perf_event.SOFTWARE["sw_task_clock_s"], "sw_page_faults": perf_event.SOFTWARE["sw_page_faults"]}
    monkeypatch.setattr(kernel_counters, "EVENTS", events)
    unseen = few.cnns[LEFT]
    if kernel_counters.count_kernels([(unseen, 1)], "torch", n_steps=1).absent:
        pytest.skip("no software events here")
    bound = with_counters(trained, [unseen], 2, RUN)
    counted = bound.gradient.characteristics.counters
    assert len(counted) == len(bound.gradient.calls([(unseen, 2)]))
    assert (counted.loc[counted["kernel"] == "conv_forward", "hw_instructions"] > 0).all()
    # Nanoseconds of this machine for those of the campaign's.
    assert step_s(bound, unseen, "linear") > 0


def test_loops_of_the_engine_do_not_describe_a_library(few: Campaign, counters: Path) -> None:
    data = gradient_data(few, None)
    for sets in (("swc-s",), ("dwc-b", "swc-o")):
        with pytest.raises(UsageError, match=rf"got {sets[-1]} for library layers .* expected dwc-b") as caught:
            GradientCharacteristics.of(few, data, sets, counters)
        assert "NumPy engine" in str(caught.value.hint)
    assert GradientCharacteristics.of(few, data, None).sets == ()
    assert set(SETS) == {"swc-s", "swc-o", "dwc-b"}


def test_counters_of_another_backend_or_of_other_networks_are_refused(few: Campaign, counters: Path, tmp_path: Path) -> None:
    data, table = gradient_data(few, None), pd.read_csv(counters)
    for name, rows, message in (
        ("other.csv", table.query("backend == 'other'"), "got rows of other, expected rows of torch"),
        ("lost.csv", table.query("cnn != 'cnn00'"), "got no row for kernel"),
    ):
        rows.to_csv(tmp_path / name, index=False)
        with pytest.raises(DataError, match=message):
            GradientCharacteristics.of(few, data, ("dwc-b",), tmp_path / name)
