"""What a model knows of its machine: from host.json, stored with it, compared with others fact by fact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.datasets import Campaign, load_campaign
from mlperf.training.measured_on import MeasuredOn

pytestmark = pytest.mark.slow

EPYC = MeasuredOn("cpu-epyc", "AMD EPYC", "L1d 48 KiB, L2 1024 KiB", "numpy", "openblas Haswell")


@pytest.fixture(scope="module")
def epyc() -> Campaign:
    """The bundled campaign."""
    return load_campaign("cpu-epyc")


def test_facts_come_from_the_host_file(epyc: Campaign) -> None:
    assert MeasuredOn.of(epyc, "numpy") == EPYC
    assert EPYC.label == "cpu-epyc (AMD EPYC)"


def test_a_device_is_the_processor(epyc: Campaign) -> None:
    host = {"host": {"processor": "AMD EPYC", "device": {"name": "NVIDIA H100"}}, "versions": {"cuda": "12.4"}}
    found = MeasuredOn.of(replace(epyc, host=host), "cuda")
    assert (found.processor, found.caches, found.build) == ("NVIDIA H100", "", "12.4")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"processor": "amd epyc"}, ()),
        ({"processor": "AMD(R)  EPYC(TM)"}, ()),
        ({"campaign": "another"}, ()),
        ({"processor": "Intel Xeon"}, ("processor 'Intel Xeon', measured on 'AMD EPYC'",)),
        ({"caches": "L1d 32 KiB", "build": "mkl"}, 2),
        ({"engine": ""}, ()),
    ],
)
def test_differences(change: dict[str, str], told: Any) -> None:
    found = EPYC.differences(replace(EPYC, **change))
    assert found == told if isinstance(told, tuple) else len(found) == told


def test_unknown_processors_do_not_differ() -> None:
    assert EPYC.differs_from(None) == EPYC.differs_from("AMD EPYC") == ()
    assert EPYC.differs_from("Tesla K80") == ("processor 'Tesla K80', measured on 'AMD EPYC'",)


def test_the_model_file_holds_it(small_model: Any, tmp_path: Path) -> None:
    mlperf.save_model(small_model, tmp_path / "m.json")
    assert mlperf.load_model(tmp_path / "m.json").measured_on == small_model.measured_on == replace(EPYC, campaign="small")
    with pytest.raises(DataError, match="measured_on"):
        MeasuredOn.from_dict({"campaign": "x"})


def test_measurements_of_another_machine_are_outside(small_model: Any, small_campaign: Path) -> None:
    campaign = mlperf.read_campaign(small_campaign)
    host = {**campaign.host, "host": {**campaign.host["host"], "processor": "Intel Xeon"}}
    here, there = (
        mlperf.compare_runs(small_model, each, cnns=["cnn00", "res03"]) for each in (campaign, replace(campaign, host=host))
    )
    assert here.other_machine == ()
    assert there.other_machine == ("processor 'Intel Xeon', measured on 'AMD EPYC'",)
    assert not there.table["in_domain"].any()
    assert here.table["in_domain"].any()
