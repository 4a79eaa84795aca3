"""Files of an earlier release: each kind is read by one function, written again as it was, and predicts the same."""

from __future__ import annotations

import json
import lzma
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlperf import load_model, save_model
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import load_campaign
from mlperf.models.storage.store import KINDS
from mlperf.specs import MachineSpec, load_cnn
from mlperf.studies.model_files import DEFAULT_MODEL, LIBRARY_MODEL, MODEL_FILES, bundled_models, homes, model_for

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parents[1] / "reference" / "models"
MAKER = runpy.run_path(str(KEPT / "make_models.py"))
NAMES = sorted(path.name.partition(".")[0] for path in KEPT.glob("*.xz"))


def unpacked(name: str, folder: Path) -> Path:
    """The stored file of one kind as a plain one."""
    path = folder / f"{name}.json"
    path.write_bytes(lzma.decompress((KEPT / f"{name}.json.xz").read_bytes()))
    return path


def test_every_kind_is_kept() -> None:
    assert set(NAMES) == {kind.removeprefix("mlperf-") for kind in (*KINDS, *MODEL_FILES)}


@pytest.mark.parametrize("name", NAMES)
def test_an_old_file_is_read_predicts_alike_and_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    """Bit-equal on one machine; other processors may sum in another order."""
    path = unpacked(name, tmp_path)
    model = load_model(path)
    save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    said: dict[str, Any] = json.loads((KEPT / "predictions.json").read_text(encoding="utf-8"))
    assert MAKER["said_by"](name, model) == pytest.approx(said[name], rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_model_is_shown(name: str, tmp_path: Path) -> None:
    """At the prompt, and as a frame where it has one; a figure that the file lacks is missing there."""
    model = load_model(unpacked(name, tmp_path))
    assert type(model).__name__ in repr(model)
    if name == "table":
        shown = model.to_frame()
        assert shown["coef"].notna().all()
        assert shown["vif"].isna().all()


def test_every_home_is_a_class_that_reads_and_writes() -> None:
    for home in homes().values():
        module, _, name = home.partition(":")
        owner = getattr(__import__(module, fromlist=[name]), name)
        assert callable(owner.from_dict)
        assert callable(owner.to_dict)


@pytest.mark.parametrize(
    ("name", "expected", "words"),
    [
        ("kernels", ("system", "table"), "of single kernels, expected one of a campaign or of a table"),
        ("table", ("system",), "of a table, expected one of a campaign"),
        ("log", ("mlperf-quality",), "that is a single estimator, expected one of epochs to an accuracy"),
        ("quality", ("kernels",), "of epochs to an accuracy, expected one of single kernels"),
    ],
)
def test_a_file_of_another_kind_is_named(name: str, expected: tuple[str, ...], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        load_model(unpacked(name, tmp_path), *expected)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"kind": "pickle"}, "$.kind"),
        ({"version": 2}, "$.version"),
        ({"format": "mlperf-other"}, "$.format"),
        ({"more": 1}, "$.more"),
    ],
)
def test_a_strange_envelope_is_refused_with_its_place(change: dict[str, Any], place: str, tmp_path: Path) -> None:
    path = unpacked("table", tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_model(path)
    assert caught.value.place == f"{path}: {place}"


def test_what_is_no_model_cannot_be_stored(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected one of"):
        save_model(tmp_path, tmp_path / "x.json")


@pytest.mark.parametrize("name", bundled_models())
def test_a_bundled_model_is_of_the_bundled_measurements(name: str) -> None:
    """``python docs/make_model.py`` makes it anew where they have changed."""
    model = load_model(name, "system")
    assert model.provenance["data_sha256"] == {name: load_campaign(name).sha256}
    assert model.measured_on.campaign == name
    assert model.provenance["host"] == {}


def test_a_table_in_the_place_of_a_model_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "gsp.csv"
    path.write_text("gpu,time_s\nA,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="got a table that begins with 'gpu,time_s', expected a model file") as caught:
        load_model(path)
    assert caught.value.place == f"{path}, line 1"
    assert f"mlperf train {path} --target COLUMN" in str(caught.value.hint)


def with_processor(name: str | None) -> MachineSpec:
    return MachineSpec("cluster", max_nodes=4, n_gpus_per_node=8, processor=name)


def test_the_model_for_a_machine_is_of_its_processor() -> None:
    """A shipped model where one was measured on such a processor, whatever marks its name has; else the default."""
    for name in ("NVIDIA H100 80GB HBM3", "nvidia  h100 80GB hbm3", "H100", "NVIDIA H100", "nvidia-h100"):
        assert model_for(with_processor(name)) == "gpu-h100-layers"
    assert model_for(with_processor(load_model("cpu-epyc").measured_on.processor)) == "cpu-epyc"
    assert model_for(with_processor("AMD EPYC 7742")) == model_for(with_processor(None)) == model_for(None) == DEFAULT_MODEL


def test_a_device_that_nobody_measured_gets_the_model_of_a_device_where_its_data_sheet_is_known() -> None:
    assert model_for(with_processor("Tesla K80")) == model_for(with_processor("NVIDIA H100 PCIe")) == "gpu-h100-layers"
    own = replace(with_processor("Accelerator 9"), device_memory_bytes=16e9, flop_per_s=1e13)
    assert model_for(own) == DEFAULT_MODEL
    assert model_for(replace(own, device_bandwidth_bytes_per_s=1e12)) == "gpu-h100-layers"


def test_layers_that_the_engine_does_not_run_are_asked_of_the_model_that_knows_them() -> None:
    usual, today = load_cnn("resnet18"), load_cnn("vit_b_16")
    assert model_for(None, (usual, today)) == model_for(with_processor("AMD EPYC 7742"), (today,)) == LIBRARY_MODEL
    assert model_for(None, (usual,)) == DEFAULT_MODEL
    assert model_for(with_processor("H100"), (today,)) == "gpu-h100-layers"
