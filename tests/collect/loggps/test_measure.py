"""Two real ranks, measured once over each transport; and sockets that take more than the sizes asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.loggps import measure
from mlperf.collect.loggps.measure import around_the_limit, collect_loggps, least_frame
from mlperf.collect.loggps.request import LogGPSRequest
from mlperf.traces.replay.network_file import read_network


@pytest.mark.slow
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


def test_a_size_that_is_not_sent_in_a_flood_has_no_time_of_it() -> None:
    times_s = {"send": np.array([[2e-6, 1e-6], [3e-6, 4e-6]]), "flood": np.array([[2e-6, 3e-6], [0.0, 0.0]])}
    least = least_frame(np.array([1.0, 1024.0]), times_s)
    assert least["send"].tolist() == [1e-6, 3e-6]
    assert least["flood"].tolist() == pytest.approx([2e-6, np.nan], nan_ok=True)


@pytest.mark.parametrize(("limit", "largest"), [(100_000, 2**21), (524_288, 2**23), (3_000_000, 2**23), (1e9, 2**25)])
def test_larger_sizes_join_until_two_wait(limit: float, largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def times(request: LogGPSRequest, sizes: Sequence[int], experiments: Sequence[str]) -> dict[str, np.ndarray]:
        of_size = np.where(np.array(sizes) > limit, 3e-3, 1e-5)
        return dict.fromkeys(experiments, np.tile(of_size[:, None], request.repeats))

    monkeypatch.setattr(measure, "measured_s", times)
    request = LogGPSRequest(tmp_path / "network.toml", quick=True)
    sizes, times_s = around_the_limit(request)
    assert sizes[-1] == largest
    assert (np.diff(sizes) > 0).all()
    assert {values.shape for values in times_s.values()} == {(len(sizes), request.repeats)}
