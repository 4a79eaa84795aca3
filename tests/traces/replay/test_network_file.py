"""Measured networks as presets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.loggps.costs import message_costs
from mlperf.traces.replay.network_file import COSTS, PARAMETERS, read_network

VALUES = dict(zip(PARAMETERS, (5e-6, 2e-6, 3e-6, 4e-6, 1e-9, 1e-10, 2e-10, 1000.0), strict=True))


def written(path: Path, **changes: str) -> Path:
    """A file whose i-th cost is (i + 1) us and (i + 1) ns a byte."""
    lines = ['transport = "tcp"', "[parameters]"]
    lines += [f"{name} = {changes.get(name, repr(value))}" for name, value in VALUES.items()]
    for number, name in enumerate(COSTS, start=1):
        lines += [f"[costs.{name}]", f"const_s = {number}e-5", f"s_per_byte = {number}e-9"]
    path.write_text("\n".join(line for line in lines if not line.endswith("= none")), encoding="utf-8")
    return path


def test_costs_are_the_measured_lines(tmp_path: Path) -> None:
    preset, parameters = read_network(written(tmp_path / "network.toml"))
    costs = message_costs(preset, parameters, np.array([1000, 1001]))
    assert costs.eager.tolist() == [True, False]
    assert costs.send == pytest.approx([1e-5 + 1e-9 * 1000, 4e-5 + 4e-9 * 1001])
    assert costs.recv == pytest.approx([2e-5 + 2e-9 * 1000, 5e-5 + 5e-9 * 1001])
    assert costs.off == pytest.approx([3e-5 + 3e-9 * 1000, 6e-5 + 6e-9 * 1001])


def test_more_latency_delays_arrivals(tmp_path: Path) -> None:
    preset, parameters = read_network(written(tmp_path / "network.toml"))
    sizes = np.array([1000, 1001])
    before, after = (message_costs(preset, each, sizes) for each in (parameters, parameters.replace(latency_s=6e-6)))
    assert after.off - before.off == pytest.approx([1e-6, 1e-6])
    assert after.send - before.send == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("value", ["none", '"fast"', "-1.0", "true", "inf"])
def test_values_that_cannot_be(value: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"parameters\.latency_s"):
        read_network(written(tmp_path / "network.toml", latency_s=value))


def test_a_file_without_costs(tmp_path: Path) -> None:
    path = written(tmp_path / "network.toml")
    path.write_text(path.read_text(encoding="utf-8").replace("[costs.sync_off]", "[costs.other]"), encoding="utf-8")
    with pytest.raises(DataError, match="no table sync_off"):
        read_network(path)


def test_what_a_byte_costs_is_in_the_lines_and_no_parameter(tmp_path: Path) -> None:
    """A parameter whose change changes nothing is told as one that the network does not have."""
    preset, parameters = read_network(written(tmp_path / "network.toml"))
    sizes = np.array([1, 1000, 1001, 10**6])
    for name in preset.unused:
        before, after = (message_costs(preset, each, sizes) for each in (parameters, parameters.replace(**{name: 1.0})))
        assert [getattr(after, each).tolist() for each in ("send", "recv", "off")] == [
            getattr(before, each).tolist() for each in ("send", "recv", "off")
        ]
