"""The profiler is asked for where a recorder runs, and its trace lies where the recorder reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mlperf.traces.recording.torch_traces import VARIABLE, torch_profile


class Profile:
    """What ``torch.profiler.profile`` is used for."""

    def __init__(self, **options: object) -> None:
        self.options = options

    def __enter__(self) -> Profile:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def export_chrome_trace(self, path: str) -> None:
        Path(path).write_text("{}")


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module, profiler = ModuleType("torch"), ModuleType("torch.profiler")
    profiler.profile = Profile  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setitem(sys.modules, "torch.profiler", profiler)


@pytest.mark.usefixtures("torch")
def test_a_trace_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with torch_profile(record_shapes=True) as profiler:
        assert profiler.options == {"record_shapes": True}
    assert [path.read_text() for path in tmp_path.glob("trace-*.json")] == ["{}"]


@pytest.mark.usefixtures("torch")
def test_every_part_that_is_profiled_has_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for _ in range(3):
        with torch_profile():
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"trace-{os.getpid()}{part}.json" for part in ("-2", "-3", "")]


def test_programs_get_it_from_the_package() -> None:
    """As the example of a whole run does, in a process that has imported nothing before."""
    code = "from mlperf.traces.recording import torch_profile\nwith torch_profile() as profiler:\n    print(profiler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("None", "")


@pytest.mark.parametrize("folder", ["", "no-such-folder"])
def test_nothing_happens_without_a_recorder(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, folder)
    with torch_profile() as profiler:
        assert profiler is None
