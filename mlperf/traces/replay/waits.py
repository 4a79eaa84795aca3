"""How long every communication event waits for its partner, and when the partner should have come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import UNSET
from mlperf.traces.graph.dag import Numbers, number_type
from mlperf.traces.graph.groups import Flow, last_so_far
from mlperf.traces.graph.program import Program
from mlperf.traces.replay.times import Times


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """Waits of a run for given times of its calls.

    Attributes
    ----------
    wait_ns : array of int64, shape (n_events,)
        Of each event, nanoseconds; never both ends of a message (but for acausal constants). A posted send or receive has the wait
        of its WAIT for its partner; the WAIT itself all that it spends before what it completes is complete, transfers too.
    partner : array of int32 or int64, shape (n_events,)
        Event waited for: the message's other end, in a collective operation the last to come, or its root; -1 if none.
    zero_call : array of int32 or int64, shape (n_events,)
        Call that would have to start at another time for the wait to be 0: the partner's; -1 where there is no wait.
    zero_ns : array of int64, shape (n_events,)
        That time. It may lie before the end of what the partner computes, even before 0: *suppose it had called in time*
        (PerWiz, section 2.2).
    call_ns : array of int64, shape (n_calls,)
        Longest wait among the events of each call.
    """

    wait_ns: IntArray
    partner: Numbers
    zero_call: Numbers
    zero_ns: IntArray
    call_ns: IntArray


def waits_of(program: Program, eager: BoolArray, times: Times, start_ns: IntArray) -> Waits:
    """Waits that follow from the starts of all calls.

    Parameters
    ----------
    program : Program
        Calls, messages, collective operations.
    eager : array of bool, shape (n_messages,)
        Messages whose sends do not wait.
    times : Times
        `off_ns`, and of posted ends `send_ns` and `recv_ns`.
    start_ns : array of int64, shape (n_calls,)
        Starts of all calls, recorded or replayed.
    """
    n_events, n_calls = len(program.calls.rows), len(program.calls)
    waits = Waits(
        np.zeros(n_events, dtype=np.int64),
        np.full(n_events, UNSET, dtype=number_type(n_events)),
        np.full(n_events, UNSET, dtype=number_type(n_events)),
        np.zeros(n_events, dtype=np.int64),
        np.zeros(n_calls, dtype=np.int64),
    )
    _of_messages(program, eager, times, start_ns, waits)
    _of_groups(program, start_ns, waits)
    np.maximum.at(waits.call_ns, program.calls.call, np.where(_is_posted(program), 0, waits.wait_ns))
    waits.wait_ns[program.calls.event] = np.where(_is_wait(program), waits.call_ns, waits.wait_ns[program.calls.event])
    return waits


def _is_posted(program: Program) -> BoolArray:
    """Events whose wait is spent in another call, shape (n_events,)."""
    posted = np.zeros(len(program.calls.rows), dtype=bool)
    messages = program.messages
    posted[messages.send[messages.send_done != messages.send_call]] = True
    posted[messages.recv[messages.recv_done != messages.recv_call]] = True
    return posted


def _is_wait(program: Program) -> BoolArray:
    """Calls that complete posted messages, shape (n_calls,)."""
    messages = program.messages
    is_wait = np.zeros(len(program.calls), dtype=bool)
    for call, done in ((messages.send_call, messages.send_done), (messages.recv_call, messages.recv_done)):
        is_wait[done[(done != call) & (done >= 0)]] = True
    return is_wait


def _of_messages(program: Program, eager: BoolArray, times: Times, start_ns: IntArray, waits: Waits) -> None:
    """Waits of both ends of every message, into ``waits``."""
    messages = program.messages
    t_u, t_v = start_ns[messages.send_call], start_ns[messages.recv_call]
    waits.partner[messages.send], waits.partner[messages.recv] = messages.recv, messages.send
    ends = (
        (
            messages.send,
            messages.send_call,
            messages.send_done,
            t_u,
            times.send_ns,
            t_v - times.off_ns,
            messages.recv_call,
            times.off_ns,
        ),
        (
            messages.recv,
            messages.recv_call,
            messages.recv_done,
            t_v,
            times.recv_ns,
            t_u + times.off_ns,
            messages.send_call,
            -times.off_ns,
        ),
    )
    for event, call, done, own, end_ns, ready, other, back in ends:
        posted = (done != call) & (done >= 0)
        # Nobody waits for a posted end before its WAIT is reached, less what the transfer takes.
        since = np.where(posted, np.maximum(own, start_ns[done] - end_ns), own)
        wait = np.maximum(ready - since, 0)
        wait[done < 0] = 0
        if event is messages.send:
            wait[eager] = 0
        waits.wait_ns[event] = wait
        waits.zero_call[event] = np.where(wait > 0, other, UNSET)
        waits.zero_ns[event] = np.where(wait > 0, since + back, 0)
        # What a WAIT spends before its own part begins: also transfers that no partner is to blame for.
        blocked = np.maximum(ready, own) if event is messages.recv else np.where(eager, own, np.maximum(ready, own))
        np.maximum.at(waits.call_ns, done[posted], np.maximum(blocked + end_ns - start_ns[done], 0)[posted])


def _of_groups(program: Program, start_ns: IntArray, waits: Waits) -> None:
    """Waits of the members of collective operations, into ``waits``."""
    groups, calls = program.groups, program.calls
    if not len(groups):
        return
    flow = groups.flow[groups.operation]
    last = groups.call[last_so_far(groups.operation, start_ns[groups.call])[groups.until]]
    other = np.where(flow == Flow.FROM_ROOT, groups.root[groups.operation], last)
    waits_for = (other != groups.call) & (
        np.isin(flow, (Flow.ALL, Flow.UP))
        | ((flow == Flow.FROM_ROOT) & ~groups.is_root)
        | ((flow == Flow.TO_ROOT) & groups.is_root)
    )
    own = start_ns[groups.call]
    wait = np.where(waits_for, np.maximum(start_ns[other] - own, 0), 0)
    event = calls.event[groups.call]
    waits.wait_ns[event] = wait
    waits.partner[event] = np.where(waits_for, calls.event[other], UNSET)
    waits.zero_call[event] = np.where(wait > 0, other, UNSET)
    waits.zero_ns[event] = np.where(wait > 0, own, 0)
