"""Every message at the costs of another network."""

from __future__ import annotations

import pytest

from mlperf.studies.message_passing.programs import Programs, measured
from mlperf.studies.message_passing.protocol import Compositing
from mlperf.studies.message_passing.transports import SHARED, modelled_s, transport_launch
from mlperf.systems.loggps.presets import find_preset


def test_slower_messages_make_the_run_longer_by_their_bytes(programs: Programs) -> None:
    wanted = Compositing(ranks=2, side=128, ns_per_pixel=10.0, frames=5, repeats=1)
    table = measured(programs, transport_launch(programs, wanted, SHARED), 1).table
    preset = find_preset("protocol")
    usual = {"latency_s": 1e-6, "overhead_s": 1e-6, "eager_limit_bytes": 100}
    times = [modelled_s(table, (preset, preset.parameters(gap_s_per_byte=gap, **usual))) for gap in (1e-8, 2e-8)]
    # In turns, all messages of the two ranks follow each other.
    sent = table.size_bytes[table.kind == 1]
    assert times[1] - times[0] == pytest.approx(1e-8 * (sent - 1).sum(), rel=0.02)
