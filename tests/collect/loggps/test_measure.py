"""Two real ranks, measured once over each transport."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.loggps.measure import collect_loggps
from mlperf.collect.loggps.request import LogGPSRequest
from mlperf.traces.replay.network_file import read_network

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("transport", ["shared-memory", "tcp"])
def test_the_file_is_what_replays_read(transport: str, tmp_path: Path) -> None:
    path = tmp_path / "network.toml"
    found = collect_loggps(LogGPSRequest(path, transport, repeats=10, quick=True))
    values = found.parameters.set_index("parameter")["value"]
    preset, parameters = read_network(path)
    assert preset.name == f"measured ({transport})"
    assert parameters.overhead_s == values["o_s"] > 0
    assert parameters.gap_s_per_byte == values["G"] > 0
    assert parameters.eager_limit_bytes == values["S"]
    # The settings force the transport: MPICH sends more at once over TCP than it has room for in shared memory.
    assert (parameters.eager_limit_bytes > 40_000) == (transport == "tcp")
    assert list(found.times["size_bytes"]) == sorted(found.times["size_bytes"])
    assert any("S lies from" in note for note in found.notes)
