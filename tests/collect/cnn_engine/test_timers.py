"""The two clocks, and the backends that carry them: on a real CPU, and on a device played by a stand-in for ``torch.cuda``."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from mlperf.collect.backends.backends import check_device, cuda_backend
from mlperf.collect.campaign.device_updates import until_done
from mlperf.collect.cnn_engine.builder import Operation
from mlperf.collect.cnn_engine.timers import DeviceTimer, ThreadTimer
from mlperf.core.errors import MissingExtraError, UsageError


def burn(seconds: float) -> None:
    """Keep this thread's CPU busy."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_the_thread_clock_counts_work_but_not_sleep() -> None:
    busy, asleep = ThreadTimer().time(lambda: burn(0.02)), ThreadTimer().time(lambda: time.sleep(0.02))
    assert 0.02 <= busy.cpu_s < 0.04
    assert busy.wall_s >= 0.02
    assert asleep.cpu_s < 0.01
    assert asleep.wall_s >= 0.02


def test_views_run_but_have_no_time() -> None:
    ran = []
    operations = [Operation(kernel, "layer", lambda kernel=kernel: ran.append(kernel)) for kernel in ("a", "", "b")]
    cpu_s, wall_s = ThreadTimer().time_each(operations)
    assert ran == ["a", "", "b"]
    assert cpu_s.shape == wall_s.shape == (2,)


class Device:
    """A stream with two clocks: the host enqueues a launch each 10 us, the device works 3 us on it, never before it is there."""

    LAUNCH_S, WORK_S, RATE_HZ = 1e-5, 3e-6, 1e9

    def __init__(self) -> None:
        self.host_s = self.device_s = 0.0
        self.synchronised = 0

    def launch(self) -> None:
        self.host_s += self.LAUNCH_S
        self.device_s = max(self.device_s, self.host_s) + self.WORK_S

    def _sleep(self, cycles: int) -> None:
        self.device_s = max(self.device_s, self.host_s) + cycles / self.RATE_HZ

    def synchronize(self) -> None:
        self.synchronised += 1
        self.host_s = max(self.host_s, self.device_s)

    def Event(self, enable_timing: bool) -> Any:
        assert enable_timing
        return Event(self)


class Event:
    def __init__(self, device: Device) -> None:
        self.device = device
        self.at_s = 0.0

    def record(self) -> None:
        self.at_s = max(self.device.device_s, self.device.host_s)

    def elapsed_time(self, other: Event) -> float:
        return (other.at_s - self.at_s) * 1e3


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    """The stand-in, with the host's clock replaced by its own."""
    played = Device()
    monkeypatch.setattr("time.perf_counter_ns", lambda: round(played.host_s * 1e9))
    return played


def test_device_times_are_busy_time_behind_a_held_queue_and_stream_time_without(device: Device) -> None:
    """A launch-bound step: each call lasts 13 us in the free stream, of which 3 us are work."""
    operations = [Operation("k", "layer", device.launch), Operation("", "layer", lambda: None), Operation("k", "b", device.launch)]
    cpu_s, wall_s = DeviceTimer(device).time_each(operations)
    assert cpu_s == pytest.approx([Device.WORK_S, Device.WORK_S])
    assert wall_s == pytest.approx([Device.LAUNCH_S + Device.WORK_S] * 2, rel=0.3)
    assert (wall_s > 2 * cpu_s).all()


def test_a_whole_step_on_a_device_has_both_times(device: Device) -> None:
    taken = DeviceTimer(device).time(lambda: [device.launch() for _ in range(20)])
    assert taken.cpu_s == pytest.approx(20 * Device.WORK_S)
    assert taken.wall_s == pytest.approx(20 * Device.LAUNCH_S, rel=0.1)


def test_copies_last_until_the_device_is_done(device: Device) -> None:
    taken = until_done(device, device.launch)
    assert taken.cpu_s == taken.wall_s == pytest.approx(Device.LAUNCH_S + Device.WORK_S)
    assert device.synchronised == 2


def test_a_build_without_cuda_and_a_machine_without_device_are_told_apart() -> None:
    def played(cuda: str | None) -> Any:
        return SimpleNamespace(
            __version__="9.9", version=SimpleNamespace(cuda=cuda), cuda=SimpleNamespace(is_available=lambda: False)
        )

    with pytest.raises(UsageError, match="built without CUDA") as built:
        check_device(played(None))
    with pytest.raises(UsageError, match="finds no device") as absent:
        check_device(played("12.4"))
    for caught in (built, absent):
        assert "--backend torch" in str(caught.value)


def test_a_missing_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="torch") as caught, cuda_backend():
        pass
    assert "mlperf-estimator[torch]" in str(caught.value)
