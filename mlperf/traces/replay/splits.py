"""Recorded durations divided into wait and the rest; the model's times where these are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.graph.program import Program
from mlperf.traces.replay.times import Times
from mlperf.traces.replay.timing import Network, Timing
from mlperf.traces.replay.waits import waits_of

WORST = 10
"""Negative splits that are kept for the report."""


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """How the recorded durations were divided.

    Attributes
    ----------
    n_negative : int
        Calls shorter than the wait that the recorded clocks give: wrong clocks, wrong matches or a wrong S. Their time without
        wait is taken as 0, so the replay ends them later than recorded.
    worst : array of int64, shape (at most 10,)
        The worst of these calls, worst first.
    missing_ns : array of int64, shape (at most 10,)
        By how much each of `worst` is too short.
    negative : array of bool, shape (n_calls,)
        All of them.
    modelled : array of bool, shape (n_calls,)
        Calls whose time is the model's.
    n_capped : int
        Ends of posted messages that were complete sooner than the model's time after both were ready; they keep what was seen.
    """

    n_negative: int
    worst: IntArray
    missing_ns: IntArray
    negative: BoolArray
    modelled: BoolArray
    n_capped: int


def split_times(program: Program, network: Network, timing: Timing) -> tuple[Times, Splits]:
    """Divide recorded durations into wait and the rest, and take the model's times where they are asked for.

    A synchronous call keeps ``duration - wait`` with the wait of the *recorded* call times (PerWiz, 4.2), so that the replay
    of an unmodified trace ends everything as recorded. A call that sends and receives at once loses the longer of its two waits.
    """
    calls, messages = program.calls, program.messages
    send_model, recv_model = _modelled_ends(program, network, timing)
    send_ns, recv_ns, n_capped = _posted_ends(program, network, send_model, recv_model)
    bare = Times(program.compute_ns, np.zeros(len(calls), dtype=np.int64), send_ns, recv_ns, network.off_ns, network.gap_ns)
    waited = waits_of(program, network.eager, bare, calls.start_ns).call_ns
    rest = calls.end_ns - calls.start_ns - waited
    modelled = _modelled_calls(program, send_model, recv_model)
    negative = (rest < 0) & ~modelled
    own = np.maximum(rest, 0)
    own[modelled] = 0
    blocking_send, blocking_recv = messages.send_done == messages.send_call, messages.recv_done == messages.recv_call
    send_ns = np.where(blocking_send & ~send_model, own[messages.send_call], send_ns)
    recv_ns = np.where(blocking_recv & ~recv_model, own[messages.recv_call], recv_ns)
    for call, mask, ends in ((messages.send_call, blocking_send, send_ns), (messages.recv_call, blocking_recv, recv_ns)):
        np.maximum.at(own, call[mask], ends[mask])
    posts = modelled & np.isin(calls.kind, (Kind.ISEND, Kind.IRECV))
    own[posts] = network.overhead_ns
    worst = np.flatnonzero(negative)[np.argsort(rest[negative], kind="stable")[:WORST]]
    splits = Splits(int(np.count_nonzero(negative)), worst, -rest[worst], negative, modelled, n_capped)
    return bare.replace(own_ns=own, send_ns=send_ns, recv_ns=recv_ns), splits


def _modelled_ends(program: Program, network: Network, timing: Timing) -> tuple[BoolArray, BoolArray]:
    """Whose time is the model's, of all sends and of all receives."""
    messages = program.messages
    asked = np.where(network.eager, timing.eager_times == "model", timing.sync_times == "model")
    assumed = program.table.flags[program.calls.rows] & Flag.ASSUMED_TIME > 0
    return asked | assumed[messages.send], asked | assumed[messages.recv]


def _modelled_calls(program: Program, send_model: BoolArray, recv_model: BoolArray) -> BoolArray:
    """Calls all of whose ends are the model's; a WAIT, or a call without a message, if its own time was not recorded."""
    calls, messages = program.calls, program.messages
    assumed = program.table.flags[calls.rows[calls.event]] & Flag.ASSUMED_TIME > 0
    n_ends, n_modelled = np.zeros(len(calls), dtype=np.int64), np.zeros(len(calls), dtype=np.int64)
    for call, modelled in ((messages.send_call, send_model), (messages.recv_call, recv_model)):
        n_ends += np.bincount(call, minlength=len(calls))
        n_modelled += np.bincount(call[modelled], minlength=len(calls))
    posted = np.isin(calls.kind, (Kind.ISEND, Kind.IRECV))
    return np.asarray(np.where((n_ends > 0) & ~posted, n_modelled == n_ends, assumed))


def _posted_ends(
    program: Program, network: Network, send_model: BoolArray, recv_model: BoolArray
) -> tuple[IntArray, IntArray, int]:
    """Times of posted ends: the model's, but no longer than the recording leaves room for; of other ends the model's.

    Transfers go on while the ranks compute (asynchronous progress).
    """
    calls, messages = program.calls, program.messages
    t_u, t_v = calls.start_ns[messages.send_call], calls.start_ns[messages.recv_call]
    ready_send = np.where(network.eager, t_u, np.maximum(t_u, t_v - network.off_ns))
    ready_recv = np.maximum(t_v, t_u + network.off_ns)
    n_capped, found = 0, []
    for model_ns, ready, call, done, modelled in (
        (network.send_ns, ready_send, messages.send_call, messages.send_done, send_model),
        (network.recv_ns, ready_recv, messages.recv_call, messages.recv_done, recv_model),
    ):
        room = np.maximum(calls.end_ns[done] - ready, 0)
        capped = (done != call) & (done >= 0) & ~modelled & (room < model_ns)
        n_capped += int(np.count_nonzero(capped))
        found.append(np.where(capped, room, model_ns))
    return found[0], found[1], n_capped
