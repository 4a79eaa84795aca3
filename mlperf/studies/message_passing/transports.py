"""Recorded over shared memory, predicted for TCP on the loopback, and run there."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.studies.message_passing.programs import BUSY, Launch, Measured, Programs, measured, transport_settings
from mlperf.studies.message_passing.protocol import Compositing
from mlperf.systems.loggps.costs import Preset
from mlperf.systems.loggps.parameters import LogGPS
from mlperf.traces.events.table import EventTable
from mlperf.traces.replay.run import replay
from mlperf.traces.replay.timing import Timing

SHARED, TCP = "shared-memory", "tcp"
NS = 1e-9


@dataclass(frozen=True, slots=True)
class OtherNetwork:
    """One program on both transports.

    Attributes
    ----------
    recorded, rerun : Measured
        Over shared memory, and over TCP.
    predicted_s : float
        For TCP, from the recording over shared memory.
    """

    recorded: Measured
    rerun: Measured
    predicted_s: float


def transport_launch(programs: Programs, wanted: Compositing, transport: str) -> Launch:
    """The compositing program with MPI's own waits; pairs send in turns, as the model's messages go one way at a time."""
    options = {
        "--side": wanted.side,
        "--frames": wanted.frames,
        "--ns-per-pixel": wanted.ns_per_pixel,
        "--exchange": "turns",
    }
    words = [str(word) for pair in options.items() for word in pair]
    path = str(programs.path("compositing", BUSY))
    return Launch((path, *words), wanted.ranks, "compositing", transport_settings(transport))


def modelled_s(table: EventTable, network: tuple[Preset, LogGPS]) -> float:
    """T with every message at the costs of a measured network; what is computed stays as recorded."""
    return replay(table, Timing(*network, eager_times="model", sync_times="model")).total_ns * NS


def other_network(programs: Programs, wanted: Compositing, networks: dict[str, tuple[Preset, LogGPS]]) -> OtherNetwork:
    """Record, predict, run again."""
    recorded = measured(programs, transport_launch(programs, wanted, SHARED), wanted.repeats)
    predicted_s = modelled_s(recorded.table, networks[TCP])
    rerun = measured(programs, transport_launch(programs, wanted, TCP), wanted.repeats)
    return OtherNetwork(recorded, rerun, predicted_s)
