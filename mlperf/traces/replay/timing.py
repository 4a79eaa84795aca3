"""How messages are timed: preset, parameters, and which durations are taken from the recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.systems.loggps.costs import TICKS_PER_S, Preset, in_ticks, message_costs
from mlperf.systems.loggps.parameters import LogGPS

Source = Literal["measured", "model"]


@dataclass(frozen=True, slots=True)
class Timing:
    """What a replay takes from the recording and what from the model.

    Attributes
    ----------
    preset : Preset
        Equations of a message's cost.
    parameters : LogGPS
        Best from :meth:`Preset.parameters`.
    eager_times, sync_times : str
        ``measured``: a call's recorded duration without its wait is kept. ``model``: the preset's time; PerWiz does that with eager
        messages. Calls whose time was not recorded (`Flag.ASSUMED_TIME`) have the model's in any case.
    gaps : bool
        Whether sends, and receives, of one rank keep the least distance max(g, (k - 1) G); the recording kept what it did.
    ticks_per_s : float
        Unit of time of the table; whole nanoseconds unless a test wants it finer.
    """

    preset: Preset
    parameters: LogGPS
    eager_times: Source = "measured"
    sync_times: Source = "measured"
    gaps: bool = False
    ticks_per_s: float = TICKS_PER_S


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Costs of a program's messages in ticks; every array has shape (n_messages,).

    Attributes
    ----------
    eager : array of bool
        Sent without asking.
    send_ns, recv_ns, off_ns : array of int64
        The preset's times, see `Preset`.
    gap_ns : array of int64
        Least time until the rank's next send, or receive; 0 unless `Timing.gaps`.
    overhead_ns : int
        Of a call that only posts a message.
    """

    eager: BoolArray
    send_ns: IntArray
    recv_ns: IntArray
    off_ns: IntArray
    gap_ns: IntArray
    overhead_ns: int


def network(timing: Timing, size_bytes: IntArray) -> Network:
    """The preset's costs of messages of these sizes, rounded once."""
    parameters = timing.parameters
    costs = message_costs(timing.preset, parameters, size_bytes)
    send, recv, off = (in_ticks(seconds, timing.ticks_per_s) for seconds in (costs.send, costs.recv, costs.off))
    gap = np.broadcast_to(np.int64(0), len(size_bytes))
    if timing.gaps:
        gap_s = np.maximum(parameters.gap_s, (np.asarray(size_bytes) - 1) * parameters.gap_s_per_byte)
        gap = in_ticks(gap_s, timing.ticks_per_s)
    overhead = int(in_ticks(parameters.overhead_s, timing.ticks_per_s))
    return Network(costs.eager, send, recv, off, gap, overhead)
