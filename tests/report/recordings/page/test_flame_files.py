"""Files of folded stacks: totals of all files are those of the samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from page_recordings import everything

from mlperf.report.recordings.page.flame_files import write_flames
from mlperf.traces.events.kinds import Kind
from mlperf.traces.timeline.flames import Groups, folded_stacks
from mlperf.traces.whole_run.event_phases import event_phases
from mlperf.traces.whole_run.steps import find_steps


def total(paths: list[Path]) -> int:
    return sum(int(line.rpartition(" ")[2]) for path in paths for line in path.read_text(encoding="utf-8").splitlines())


def test_totals_of_the_files_are_those_of_the_samples(tmp_path: Path) -> None:
    recording = everything()
    events = recording.events
    swarms = Groups(("Math / BLAS", "math / blas"), np.arange(len(events)) % 3 - 1)
    stacks = folded_stacks(events, swarms, event_phases(events, find_steps(recording)))
    written = write_flames(stacks, tmp_path / "new" / "stacks")
    assert len({path.name.lower() for path in written}) == len(written)
    for ending, kind in ((".cpu.folded", Kind.SAMPLE), (".elapsed.folded", Kind.STACK)):
        assert total([path for path in written if path.name.endswith(ending)]) == events.weight_ns[events.kind == kind].sum()
    names = {path.name for path in written}
    assert {"none.load.cpu.folded", "Math-BLAS.load.cpu.folded", "math-blas.load-2.cpu.folded"} <= names


def test_names_that_would_leave_the_folder_do_not(tmp_path: Path) -> None:
    stacks = pd.DataFrame(
        {"measure": ["cpu"], "swarm": ["../../up"], "phase": ["..."], "stack": ["a"], "weight_ns": [1], "n_samples": [1]}
    )
    (path,) = write_flames(stacks, tmp_path)
    assert path.parent == tmp_path
    assert path.name == "up.unnamed.cpu.folded"
