"""What waits for what on one rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from profiled_ranks import write_job

from mlperf.traces.events.kinds import Kind
from mlperf.traces.ranks.profiled.program import NOBODY, program_of
from mlperf.traces.readers.chrome.reader import read_chrome


def test_launches_streams_and_waits(tmp_path: Path) -> None:
    """Three launches and one wait a step; the all-reduce follows the product on its stream; the wait returns after it."""
    write_job(tmp_path)
    table = read_chrome(tmp_path)
    program = program_of(table, 1)
    assert (len(program.calls), len(program.activities)) == (16, 12)
    assert (program.launch >= 0).all()
    kinds = table.kind[program.activities]
    collective = np.flatnonzero(kinds == Kind.COLL)
    assert (kinds[program.previous[collective]] == Kind.KERNEL).all()
    waits = np.flatnonzero(program.awaited != NOBODY)
    assert len(waits) == 4
    assert (kinds[program.awaited[waits]] == Kind.COLL).all()
    # The copy starts 15 us after its launch, the product 25: the least is the copy's.
    assert program.least_launch_ns == 15_000
