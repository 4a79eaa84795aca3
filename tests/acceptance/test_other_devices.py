"""Steps on devices that nobody measured: the page, its limits, and what the constants rest on."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import mlperf
from mlperf.datasets.open.open_data import read_open
from mlperf.specs.devices import device_sheet
from mlperf.studies.other_devices import PEAKS, UNSCALED, judge_devices, read_device_limits
from mlperf.training.gradient.other_device import REACHED, REACHED_BANDWIDTH

pytestmark = [pytest.mark.slow, pytest.mark.data]

LIMITS = Path(__file__).with_name("other_devices.toml")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "other_devices.md"
LEAST_S = 2e-4
"""Kernels that fill a device."""
SAME = 0.02


def test_the_page_shows_what_is_predicted_and_the_misses_are_known(shared_data: Path) -> None:
    found = judge_devices(mlperf.load_model("gpu-h100-layers"), shared_data, n_draws=2).errors().set_index(["set", "device"])
    limits, page = read_device_limits(LIMITS), PAGE.read_text(encoding="utf-8")
    for name in ("first", "second"):
        (line,) = re.findall(rf"^\| {name} \| all \| (.*) \|$", page, re.MULTILINE)
        n, error, _, coverage, unscaled, peaks = (float(cell.split()[0]) / 100.0 for cell in line.split("|"))
        every = found.loc[name, "all"]
        assert round(100.0 * n) == every["n"]
        for shown, what in ((error, "error"), (unscaled, UNSCALED), (peaks, PEAKS)):
            assert shown == pytest.approx(every[what], rel=SAME, abs=1e-3), what
        met = [error <= limits["error"], coverage >= limits["coverage"], error < min(unscaled, peaks)]
        told = re.findall(rf"^\| {name} \| .* \| (yes|\*\*no\*\*) \|$", page, re.MULTILINE)
        assert [each == "yes" for each in told] == met


def test_shares_of_the_peaks_are_those_of_kernels_measured_alone(shared_data: Path) -> None:
    conv = read_open("neusight", "conv", shared_data)
    operations = (
        2.0 * conv["subbatch_size"] * conv["maps_in"] * conv["maps_out"] * conv["filter_size"] ** 2 * conv["input_size"] ** 2
    )
    reached = shares(conv, operations, "flop_per_s")
    assert reached.between(0.5, 0.7).all()
    assert reached.median() == pytest.approx(REACHED, abs=0.03)
    vectors = read_open("neusight", "vector_ops", shared_data)
    n_vectors = 2.0 + vectors["operation"].isin(["add", "mul"])
    reached = shares(vectors, 4.0 * n_vectors * vectors["rows"] * vectors["columns"], "bandwidth_bytes_per_s")
    assert reached.between(0.65, 0.9).all()
    assert reached.min() == pytest.approx(REACHED_BANDWIDTH, abs=0.03)


def shares(rows: pd.DataFrame, work: pd.Series[float], figure: str) -> pd.Series[float]:
    """Median by device of what kernels of some length reach of a figure of the data sheet."""
    sheets = {name: device_sheet(str(name)) for name in rows["device"].unique()}
    assert all(sheets.values())
    peak = rows["device"].map({name: getattr(sheet, figure) for name, sheet in sheets.items()})
    long = rows["time_s"] > LEAST_S
    return (work / rows["time_s"] / peak)[long].groupby(rows["device"][long]).median()
