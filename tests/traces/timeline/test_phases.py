"""What a program is doing, by its marks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from profiles import complete, kernel, launch, write

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.phases import PHASES, launch_phases, phase_unions


def test_device_work_belongs_to_the_phase_that_launched_it(tmp_path: Path) -> None:
    events = [
        complete("user_annotation", "enumerate(DataLoader)#next", 0, 10),
        complete("cpu_op", "aten::mm", 10, 10),
        launch(12, 1, 1),
        complete("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 20, 10),
        complete("cpu_op", "aten::mm", 21, 5),
        launch(22, 1, 2),
        complete("user_annotation", "Optimizer.step#SGD.step", 30, 10),
        complete("cpu_op", "aten::add_", 31, 5),
        launch(32, 1, 3),
        kernel(40, 5, 1),
        kernel(45, 6, 2),
        kernel(51, 7, 3),
        complete("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 60, 2, 0, 7, device=0, stream=7),
    ]
    table = read_chrome(write(tmp_path / "a.json", events, 0))
    device = np.flatnonzero(table.device == 0)
    names = list(PHASES)
    assert [names[each] for each in launch_phases(table, device)] == ["forward", "backward", "update", "h2d"]
    found = {name: each.total_ns // 1000 for name, each in phase_unions(table, 0, 0).items()}
    assert found == {"pre": 10, "h2d": 2, "forward": 10 + 5, "backward": 10 + 6, "update": 10 + 7, "d2h": 0}
