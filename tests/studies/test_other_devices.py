"""Open steps beside what is carried over: errors, trivial answers, networks that nobody knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.specs.devices import device_sheet
from mlperf.studies import other_devices
from mlperf.studies.other_devices import PEAKS, UNSCALED, asked_step, judge_devices, read_device_limits

V100 = "Tesla V100-PCIE-32GB"


def test_errors_are_those_of_the_answers_a_user_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mlperf.load_model("gpu-h100-layers")
    there = asked_step(model, "resnet18", 16, V100, 50)
    rows = {
        "source": "made",
        "device": V100,
        "cnn": ["ResNet-18", "ResNet-18", "NoNet-1"],
        "subbatch_size": 16,
        "step_s": [there[0] / 2, 2 * there[2], 1],
    }
    monkeypatch.setattr(other_devices, "device_rows", lambda _: pd.DataFrame(rows))
    found = judge_devices(model, n_draws=50)
    assert found.left_out == ("NoNet-1",)
    assert found.rows["error"].to_numpy() == pytest.approx([1.0, there[0] / (2 * there[2]) - 1.0])
    assert found.rows["inside"].tolist() == [there[1] <= there[0] / 2, False]
    here = asked_step(model, "resnet18", 16, None, 2)[0]
    measured, asked = device_sheet("NVIDIA H100 80GB HBM3"), device_sheet(V100)
    assert measured is not None
    assert asked is not None
    step_s = np.array(rows["step_s"][:2])
    assert found.rows[UNSCALED].to_numpy() == pytest.approx(here / step_s - 1.0)
    assert found.rows[PEAKS].to_numpy() == pytest.approx(here * measured.flop_per_s / asked.flop_per_s / step_s - 1.0)
    summary = found.errors().set_index(["set", "device"])
    assert summary.loc[("first", "all"), "n"] == summary.loc[("first", V100), "n"] == 2
    assert summary.loc[("first", "all"), "error"] == pytest.approx(found.rows["error"].abs().mean())


def test_limits_are_numbers_by_name(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text("[limits]\nerror = 0.5\ncoverage = 1\n", encoding="utf-8")
    assert read_device_limits(tmp_path / "limits.toml") == {"error": 0.5, "coverage": 1.0}
