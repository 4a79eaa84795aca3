"""Characteristics as candidate terms: gains on left-out CNNs, stored models, and where the counters of an unseen CNN come from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from mlperf import load_model, save_model, train
from mlperf.cli.main import main
from mlperf.collect.counters.kernel_counters import count_kernels
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import Campaign, read_campaign
from mlperf.features.network_engine import SETS
from mlperf.specs import CnnSpec
from mlperf.studies.gain import characteristic_gain, gain_std_err
from mlperf.training.characteristics.description import campaign_counters
from mlperf.training.characteristics.stored import RUN, SURROGATE
from mlperf.training.gradient.gradient import step_times
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics, terms_of
from mlperf.training.gradient.gradient_data import gradient_data
from mlperf.training.model import Model
from mlperf.training.training import fit_sgemm
from mlperf.training.with_counters import with_counters

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unseen(small_campaign: Path) -> CnnSpec:
    return read_campaign(small_campaign).cnns["cnn04"]


@pytest.fixture(scope="module")
def few(few_networks: Campaign) -> Campaign:
    """Without cnn04, which is left for predictions."""
    return few_networks


@pytest.fixture(scope="module")
def trained(few: Campaign) -> Model:
    return train(few, characteristics=("swc-s", "dwc-b"), n_folds=2, scored=False)


@pytest.fixture(scope="module")
def simulated(trained: Model, unseen: CnnSpec) -> Model:
    """With the counters of the unseen network by the cache model."""
    return with_counters(trained, [unseen], 2, SURROGATE)


def step_s(model: Model, cnn: CnnSpec, method: str = "linear") -> float:
    calls = model.gradient.calls([(cnn, 2)])
    return float(step_times(calls, model.gradient.call_times(calls, method))[0])


def test_a_counter_that_is_the_time_removes_the_error(few: Campaign, tmp_path: Path) -> None:
    """Instructions that are exactly proportional to the measured times of each kernel: almost only the step's own noise is left."""
    campaign = few
    data = gradient_data(campaign, fit_sgemm(campaign))
    oracle = data.calls[["cnn", "subbatch_size", "kernel", "layer"]].assign(hw_instructions=data.calls["time_s"] * 1e9)
    oracle.to_csv(tmp_path / "oracle.csv", index=False)
    found = characteristic_gain(campaign, ("dwc-b",), counters=tmp_path / "oracle.csv", n_folds=2)
    by_source = found.table.set_index("counters_from")
    assert by_source.loc[RUN, "mape"] < 0.5 * by_source.loc["", "mape"]
    assert by_source.loc[RUN, "gain"] == pytest.approx(by_source.loc["", "mape"] - by_source.loc[RUN, "mape"])
    assert by_source.loc["", "gain"] == 0.0
    assert 0.0 < by_source.loc[RUN, "gain_std_err"] < by_source.loc[RUN, "gain"]
    assert any("hw_cache_misses" in note for note in found.notes)


def test_the_error_of_a_gain_is_that_of_whole_networks() -> None:
    """Against the cluster-robust error of a mean by statsmodels."""
    rng = np.random.default_rng(0)
    cnn = np.repeat([f"cnn{at}" for at in range(12)], rng.integers(1, 6, 12))
    shared = pd.Series(cnn).map(dict(zip(np.unique(cnn), 0.1 * rng.standard_normal(12), strict=True))).to_numpy(float)
    without = pd.DataFrame({"cnn": cnn, "measured_s": 1.0, "linear_s": 1.0 + 0.2 * rng.standard_normal(len(cnn))})
    steps = without.assign(linear_s=1.0 + shared + 0.05 * rng.standard_normal(len(cnn)))
    less = (without["linear_s"] - 1.0).abs() - (steps["linear_s"] - 1.0).abs()
    robust = sm.OLS(less, np.ones(len(less))).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(cnn)[0]})
    assert gain_std_err(without, steps, "linear") == pytest.approx(float(robust.bse.iloc[0]), rel=1e-9)


def test_every_method_can_be_asked(few: Campaign) -> None:
    """The command's own example names ``learnt``, whose estimator keeps its terms in another shape."""
    found = characteristic_gain(few, ("swc-s",), method="learnt", n_folds=2).table
    assert found["n_terms"].iloc[-1] > 0
    assert found["mape"].between(0.0, 1.0).all()


def test_noise_for_a_counter_is_no_gain(few: Campaign, tmp_path: Path) -> None:
    campaign = few
    calls = campaign_counters(campaign, "numpy")[["cnn", "subbatch_size", "kernel", "layer"]]
    noise = np.random.default_rng(0).integers(1, 10**6, len(calls))
    calls.assign(hw_branch_misses=noise).to_csv(tmp_path / "noise.csv", index=False)
    found = characteristic_gain(campaign, ("dwc-b",), counters=tmp_path / "noise.csv", n_folds=2)
    assert found.table["gain"].max() < 0.02


def test_columns_are_offered_to_the_kernels_that_they_describe(few: Campaign) -> None:
    campaign = few
    further = GradientCharacteristics.of(campaign, gradient_data(campaign, fit_sgemm(campaign)), ("swc-o", "swc-s"))
    assert further.sets == ("swc-s", "swc-o")
    memory, products = terms_of(further.sets, further.data.calls)
    assert set(memory) == {*SETS["swc-s"].memory_terms, *SETS["swc-o"].memory_terms}
    assert "tile_instructions" in products
    calls = further.data.calls
    assert (calls.loc[calls["m"] > 0, "tile_instructions"] > 0).all()
    assert (calls.loc[calls["m"] == 0, "tile_instructions"] == 0).all()


def test_an_unseen_cnn_needs_a_run_or_the_cache_model(
    trained: Model, simulated: Model, unseen: CnnSpec, small_campaign: Path
) -> None:
    with pytest.raises(DataError, match="hw_instructions") as caught:
        step_s(trained, unseen)
    assert "--profile-run" in str(caught.value.hint)
    whole = read_campaign(small_campaign)
    assert step_s(simulated, unseen) > 0
    counted = replace(trained.gradient.characteristics, counters=campaign_counters(whole, "numpy"), counters_from=RUN)
    by_run = replace(trained, gradient=replace(trained.gradient, characteristics=counted))
    steps = whole.steps.query("cnn == 'cnn04' and subbatch_size == 2")
    assert step_s(by_run, unseen) == pytest.approx(steps["step_s"].median(), rel=0.4)


def test_a_short_run_counts_this_network_here(trained: Model, unseen: CnnSpec) -> None:
    """Where the machine counts all that the model reads; elsewhere the message names what it does not."""
    absent = sorted(count_kernels([(unseen, 1)], n_steps=1).absent)
    if absent:
        with pytest.raises(DataError, match="|".join(absent)):
            with_counters(trained, [unseen], 2, RUN)
        return
    bound = with_counters(trained, [unseen], 2, RUN)
    assert set(bound.gradient.characteristics.counters["cnn"]) == {"cnn04"}
    assert step_s(bound, unseen) > 0


def test_a_stored_model_answers_the_same(trained: Model, simulated: Model, unseen: CnnSpec, tmp_path: Path) -> None:
    save_model(trained, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    bound = with_counters(again, [unseen], 2, SURROGATE)
    for method in ("linear", "learnt"):
        assert step_s(simulated, unseen, method) == step_s(bound, unseen, method)
    assert again.gradient.characteristics.sets == ("swc-s", "dwc-b")


def test_the_command_says_what_is_missing_and_where_counters_come_from(
    trained: Model, small_campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_model(trained, tmp_path / "m.json")
    words = ["--cnn", str(small_campaign / "cnns" / "cnn04.toml"), "--machine", "cpu-cluster", "--dataset-size", "1000"]

    def code(*more: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(["predict", str(tmp_path / "m.json"), *words, "--nodes", "1", "--subbatch", "2", *more])
        return int(caught.value.code or 0)

    assert code() == 3
    error = capsys.readouterr().err
    assert "hw_instructions" in error
    assert "--profile-run" in error
    assert code("--surrogates", "--json") == 0
    shown = capsys.readouterr()
    assert "counters of the kernels from: cache model" in shown.err
    assert json.loads(shown.out)["result"]["epoch_s"][0] > 0


def test_counters_are_for_models_that_read_them(trained: Model, few: Campaign, unseen: CnnSpec, tmp_path: Path) -> None:
    own = replace(trained.gradient.characteristics, sets=("swc-s",), surrogates=None)
    static = replace(trained, gradient=replace(trained.gradient, characteristics=own))
    with pytest.raises(UsageError, match="without terms of counters"):
        with_counters(static, [unseen], 2, SURROGATE)
    with pytest.raises(UsageError, match="swc-x"):
        train(few, characteristics=("swc-x",))
    lost = campaign_counters(few, "numpy").query("cnn != 'cnn00'")
    pd.DataFrame(lost).to_csv(tmp_path / "lost.csv", index=False)
    with pytest.raises(DataError, match="got no row for kernel"):
        train(few, characteristics=("dwc-b",), counters=tmp_path / "lost.csv")
