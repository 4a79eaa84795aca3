"""What a recording of the compositing program says about its stages."""

from __future__ import annotations

import pytest

from mlperf.studies.message_passing.compositing import Stages, compositing_launch, stages_of
from mlperf.studies.message_passing.programs import Programs, measured
from mlperf.studies.message_passing.protocol import Compositing
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.replay.timing import Timing

pytestmark = pytest.mark.slow

MYRINET = Timing(find_preset("perwiz-myrinet"), find_preset("perwiz-myrinet").parameters())


def test_the_worst_stage_is_counted_from_one() -> None:
    found = Stages(10.0, {}, (9.0, 7.0, 8.0), (0.0, 0.0, 0.0), 6.0)
    assert found.worst_stage == 2
    assert found.left_share == pytest.approx(0.4)


def test_a_recording_has_eight_bounds_and_its_stages(programs: Programs) -> None:
    # Long enough that what else the machine does at the time is little beside it.
    wanted = Compositing(ranks=4, side=128, ns_per_pixel=20_000.0, frames=1, repeats=1)
    table = measured(programs, compositing_launch(programs, wanted, "block"), 1).table
    found = stages_of(table, MYRINET)
    assert len(found.bounds_s) == 8
    assert len(found.balanced_s) == len(found.sigma_s) == 2
    assert found.bounds_s["as measured"] == pytest.approx(found.measured_s)
    # Blocks share the first stage out evenly, the second not.
    assert found.sigma_s[1] > 3 * found.sigma_s[0]
