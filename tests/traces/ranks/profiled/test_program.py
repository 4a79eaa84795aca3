"""What waits for what on one rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiles import complete, kernel, launch, write

from mlperf.traces.ranks.profiled.program import Program, program_of
from mlperf.traces.readers.chrome.reader import read_chrome


def program(tmp_path: Path, *events: dict[str, object]) -> Program:
    return program_of(read_chrome(write(tmp_path / "a.json", events, 0)), 0)


def test_launches_streams_and_waiting_calls(tmp_path: Path) -> None:
    found = program(
        tmp_path,
        launch(0, 2, 1),
        launch(3, 1, 2),
        launch(5, 30, 3, "cudaStreamSynchronize"),
        kernel(10, 8, 1),
        kernel(18, 9, 2),
        complete("cuda_sync", "Stream Sync", 27, 1, 0, 7, stream=7, device=0, correlation=3),
    )
    assert found.before.tolist() == [-1, 0, 1]
    assert found.launch.tolist() == [0, 1]
    assert found.previous.tolist() == [-1, 0]
    assert found.awaited.tolist() == [-1, -1, 1]
    assert (found.least_launch_ns, found.n_inferred) == (10_000, 0)


def test_threads_hand_over_to_each_other(tmp_path: Path) -> None:
    """The autograd thread goes on where the main thread stopped, and back."""
    found = program(
        tmp_path, launch(0, 2, 1), launch(10, 2, 2, tid=12), launch(20, 2, 3), *(kernel(50 + 9 * n, 2, n) for n in (1, 2, 3))
    )
    assert found.before.tolist() == [-1, 0, 1]


def test_a_copy_that_the_host_waits_for(tmp_path: Path) -> None:
    copy = complete("gpu_memcpy", "Memcpy DtoH", 6, 4, 0, 7, device=0, stream=7, correlation=1)
    assert program(tmp_path, launch(0, 12, 1, "cudaMemcpyAsync"), copy).awaited.tolist() == [0]
    assert program(tmp_path, launch(0, 3, 1, "cudaMemcpyAsync"), copy).awaited.tolist() == [-1]


def test_streams_wait_for_events_that_the_trace_names(tmp_path: Path) -> None:
    waits = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2, "stream": 20, "device": 0, "correlation": 3}
    events = [
        launch(0, 1, 1),
        launch(2, 1, 2, "cudaEventRecord"),
        launch(4, 1, 3, "cudaStreamWaitEvent"),
        launch(6, 1, 4),
        kernel(10, 50, 1),
        kernel(100, 5, 4, stream=20),
        complete("cuda_sync", "Stream Wait Event", 5, 1, 0, 20, **waits),
    ]
    found = program(tmp_path, *events)
    assert (found.other.tolist(), found.n_inferred) == ([-1, 0], 0)
    assert program(tmp_path, *events[:-1]).other.tolist() == [-1, -1], "40 us later: no wait is inferred"


def test_a_wait_is_inferred_where_one_follows_the_other_closely(tmp_path: Path) -> None:
    found = program(tmp_path, launch(0, 1, 1), launch(4, 1, 2), kernel(10, 50, 1), kernel(63, 5, 2, stream=20))
    assert (found.other.tolist(), found.n_inferred) == ([-1, 0], 1)


@pytest.mark.data
@pytest.mark.parametrize(("name", "n_told"), [("event_sync_multi_stream_a100", 1), ("alexnet_a100", 6)])
def test_real_traces_name_what_streams_wait_for(name: str, n_told: int, shared_data: Path) -> None:
    found = program_of(read_chrome(shared_data / "kineto_traces" / f"{name}.json.gz"), 0)
    assert np.count_nonzero(found.other >= 0) == n_told
    assert found.n_inferred == 0
