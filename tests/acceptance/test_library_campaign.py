"""From torch layers to an epoch: a tiny campaign is measured, trained on, and asked about a network that nobody ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mlperf
from mlperf.collect.campaign.run import CollectRequest, collect
from mlperf.core.errors import DataError
from mlperf.datasets import write_table
from mlperf.specs import CnnSpec, JobSpec, Layer, library_calls, load_machine
from mlperf.systems.sprint.components import SHARE_OPERATIONS, VECTOR_OPERATIONS

pytest.importorskip("torch", reason="torch is not installed")

N_ROUNDS = 2
SUBBATCHES = (1, 4)
NETS = tuple(
    CnnSpec.from_sprint(f"net{maps}", side, (3, maps, 2 * maps, 10), (1,), 2)
    for maps, side in ((4, 20), (8, 28), (12, 24), (16, 36))
)
UNSEEN = CnnSpec.from_sprint("unseen", 26, (3, 10, 14, 10), (1,), 2)


def updates() -> pd.DataFrame:
    """Memory operations of 1 ns a number."""
    sizes = [(name, 10**power, 0, 0) for name in (*VECTOR_OPERATIONS, *SHARE_OPERATIONS) for power in (4, 5, 6, 7)]
    images = [(name, 0, subbatch, size) for name in ("load_image", "deform_image") for subbatch in (1, 4) for size in (1200, 3000)]
    frame = pd.DataFrame([*sizes, *images], columns=["operation", "n_params", "subbatch_size", "input_size"])
    times = 1e-9 * (frame["n_params"] + frame["subbatch_size"] * frame["input_size"]) + 1e-6
    return frame.assign(cpu_s=times, wall_s=times, round=1, sequence=range(len(frame)), load=0.0, reference_s=0.0)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torch")
    collect(CollectRequest(("kernels", "steps"), folder, NETS, SUBBATCHES, N_ROUNDS, backend="torch"))
    write_table(updates(), folder / "updates.csv", "updates")
    return folder


@pytest.fixture(scope="module")
def model(campaign: Path) -> Any:
    return mlperf.train(campaign, n_folds=2)


def test_every_library_call_has_a_model(model: Any) -> None:
    assert model.gradient.backend == "torch"
    assert set(model.gradient.kernels) == {call.kernel for cnn in NETS for call in library_calls(cnn, 1)}


def test_an_unseen_network_is_predicted_by_its_library_calls(model: Any) -> None:
    calls = model.gradient.calls([(UNSEEN, 2), (UNSEEN, 3)])
    assert list(calls[calls["run"] == 0]["kernel"]) == [call.kernel for call in library_calls(UNSEEN, 2)]
    assert (model.gradient.call_times(calls) > 0).all()


def test_an_epoch_is_predicted_from_the_stored_model(model: Any, tmp_path: Path) -> None:
    """Eight times the samples take about eight times as long on one node; the step is of the order of what was measured."""
    mlperf.save_model(model, tmp_path / "model.json")
    again = mlperf.load_model(tmp_path / "model.json")
    machine = load_machine("kfc")
    short, long = (
        mlperf.predict_epoch(again, UNSEEN, machine, JobSpec(dataset_size=size), n_nodes=1, n_gpus_per_node=1, subbatch_size=2)
        for size in (1000, 8000)
    )
    assert long.epoch_s[0] == pytest.approx(8 * short.epoch_s[0], rel=0.01)
    measured = model.score.predictions["measured_s"]
    assert 0.1 * measured.min() < short.gpu_breakdown_s["compute_gradient"][0] < 10 * measured.max()


def test_a_layer_that_was_never_measured_is_named(model: Any) -> None:
    cnn = CnnSpec(
        "normal", 3, (9, 9), (Layer("c", "conv", n_maps=4, filter_size=3), Layer("norm", "batch_norm"), Layer("f", "fc", n_maps=4))
    )
    with pytest.raises(DataError, match=r"layer 'norm' runs the kernel 'batch_norm_forward'"):
        model.gradient.call_times(model.gradient.calls([(cnn, 2)]))
