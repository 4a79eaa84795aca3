"""F2 of PerWiz: a run replayed under any combination of edits."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.traces.events.kinds import UNSET
from mlperf.traces.graph.dag import NEVER, forward
from mlperf.traces.replay.run import Replay, replay_times
from mlperf.traces.replay.times import Times, edge_weights, processing
from mlperf.traces.replay.timing import Network, network
from mlperf.traces.whatif.edits import END, EVERY, Edit, event_number, events_of, rank_of, timing_after
from mlperf.traces.whatif.pieces import Cut, cut_at
from mlperf.traces.whatif.regions import Steps, balanced_sizes

SHORTENING = ("duration", "processing")
"""Edits that take calls' own time away."""


class Taken:
    """What has been balanced in a step of a region: nothing can be in two of them.

    Parameters
    ----------
    n : int
        Messages, or pieces of computations.
    what : str
        Which of both.
    """

    def __init__(self, n: int, what: str) -> None:
        self._what = what
        self._regions: list[str] = []
        self._owner = np.full(n, UNSET, dtype=np.int64)
        self._step = np.full(n, UNSET, dtype=np.int64)

    def take(self, chosen: IntArray, step: IntArray, region: str, edit: Edit) -> None:
        """Note that some are balanced in their steps of a region; UsageError where another region has them."""
        if region not in self._regions:
            self._regions.append(region)
        own = self._regions.index(region)
        twice = chosen[(self._owner[chosen] != UNSET) & (self._owner[chosen] != own)]
        if len(twice):
            one = int(twice[0])
            before = f"region {self._regions[self._owner[one]]}, step {self._step[one]}"
            raise UsageError(
                f"{edit.text}: region {region}, step {step[one]} shares {self._what} with {before}, which is balanced, too",
                hint="Balance one of them at a time. Where ranks call equally often, the longer one balances what lies in it.",
            )
        self._owner[chosen], self._step[chosen] = own, step[chosen]


def edited(run: Replay, edits: Sequence[Edit], cut: Cut | None = None) -> Replay:
    """Replay a run with all edits made at once.

    Computations and messages are changed first, then the run is laid out anew (another length may be another protocol), then events
    lose their durations, then waits go. A wait that goes moves its partner's call to where it should have come in the run *without*
    edits (PerWiz, 2.2), so that the answer does not depend on the order of edits.

    Parameters
    ----------
    run : Replay
        The unmodified run.
    edits : sequence of Edit
        Of the same event at most one ``wait``; a network replaces the networks and parameters before it, parameters add up.
    cut : Cut, optional
        The run laid into the regions of these edits (`laid_for`), where others need the same.

    References
    ----------
    Kanbe et al. (PerWiz), section 4.1, function F2.
    """
    timing = timing_after(run.timing, edits)
    cut = laid_for(run, edits) if cut is None else cut
    costs = network(timing, _sizes(run, edits, cut))
    times = retimed(run, costs).replace(compute_ns=_computes(run, edits, cut))
    known = run.graph if timing.gaps == run.timing.gaps else None
    changed = replay_times(run.program, timing, costs, times, run.splits, known)
    fixed = _moved(run, changed, edits)
    if fixed is None and not any(edit.what in SHORTENING for edit in edits):
        return changed
    weights = edge_weights(changed.graph, times)
    _shorten(run, changed, edits, weights)
    dag = changed.graph.dag
    if fixed is None:
        return dataclasses.replace(changed, weight_ns=weights, time_ns=forward(dag, weights))
    for node in fixed[0].tolist():
        weights[dag.first[node] : dag.first[node + 1]] = NEVER
    return dataclasses.replace(changed, weight_ns=weights, time_ns=forward(dag, weights, fixed), fixed=fixed[0])


def laid_for(run: Replay, edits: Sequence[Edit]) -> Cut:
    """A run laid into the regions that edits need."""
    others = [
        edit.region
        for edit in edits
        if (edit.what == "balance" and "volume" in edit.parts) or (edit.what == "length" and edit.region != "")
    ]
    return cut_at(run, [edit.region for edit in edits if _is_of_region(edit)], others)


def _sizes(run: Replay, edits: Sequence[Edit], cut: Cut) -> IntArray:
    """Payloads of all messages after the edits, bytes."""
    messages = run.program.messages
    size = messages.size_bytes.copy()
    balanced: set[tuple[str, int]] = set()
    taken = Taken(len(size), "messages")
    for edit in edits:
        if edit.what == "length":
            chosen = _messages_of(run, edit, cut)
            size[chosen] = np.rint(size[chosen] * edit.factor).astype(np.int64)
        elif edit.what == "balance" and "volume" in edit.parts:
            steps = cut.steps[edit.region]
            new = [step for step in _chosen_steps(steps, edit).tolist() if (steps.region, step) not in balanced]
            balanced |= {(steps.region, step) for step in new}
            step = np.where(np.isin(steps.call_step, new), steps.call_step, -1)[messages.send_call]
            taken.take(np.flatnonzero((step >= 0) & (messages.size_bytes > 0)), step, steps.region, edit)
            size = balanced_sizes(size, run.program.calls.rank[messages.send_call], step, steps.sent_bytes)
    return size


def _messages_of(run: Replay, edit: Edit, cut: Cut) -> IntArray:
    """Messages with an end that an edit of lengths means."""
    messages = run.program.messages
    if edit.region:
        return np.flatnonzero(cut.steps[edit.region].call_step[messages.send_call] >= 0)
    events = events_of(run, edit)
    return np.flatnonzero(np.isin(messages.send, events) | np.isin(messages.recv, events))


def _chosen_steps(steps: Steps, edit: Edit) -> IntArray:
    """The steps of a region that an edit means."""
    wrong = [step for step in edit.steps if step >= steps.n_steps]
    if wrong:
        raise UsageError(f"{edit.text}: no step {wrong[0]}, region {steps.region} has {steps.n_steps} (0 to {steps.n_steps - 1})")
    return np.array(edit.steps or range(steps.n_steps), dtype=np.int64)


def retimed(run: Replay, costs: Network) -> Times:
    """Durations of messages under other costs: what was measured, plus how much the model's time changes, 0 at least.

    A call that sends and receives at once was measured as a whole: what changes is the longer of its model's times. A call that
    only posts a message takes the overhead of one.
    """
    before, times, messages = run.network, run.times, run.program.messages
    own = times.own_ns.copy()
    send_blocks, recv_blocks = messages.send_done == messages.send_call, messages.recv_done == messages.recv_call
    change = longest_ns(run, costs) - longest_ns(run, before)
    whole_send, whole_recv = whole_ends(run)
    send = np.where(whole_send, change[messages.send_call], costs.send_ns - before.send_ns)
    recv = np.where(whole_recv, change[messages.recv_call], costs.recv_ns - before.recv_ns)
    send, recv = np.maximum(times.send_ns + send, 0), np.maximum(times.recv_ns + recv, 0)
    ends = ((messages.send_call, send_blocks, send), (messages.recv_call, recv_blocks, recv))
    for call, blocking, _ in ends:
        own[call[blocking]] = 0
    for call, blocking, values in ends:
        np.maximum.at(own, call[blocking], values[blocking])
    posts = messages.posts(run.program.calls)
    own[posts] = np.maximum(own[posts] + costs.overhead_ns - before.overhead_ns, 0)
    return times.replace(own_ns=own, send_ns=send, recv_ns=recv, off_ns=costs.off_ns, gap_ns=costs.gap_ns)


def whole_ends(run: Replay) -> tuple[BoolArray, BoolArray]:
    """Sends and receives whose time was measured with their call as a whole, each of shape (n_messages,)."""
    own, messages, measured = run.times.own_ns, run.program.messages, ~run.splits.modelled
    send, recv = messages.send_call, messages.recv_call
    return (
        (messages.send_done == send) & measured[send] & (run.times.send_ns == own[send]),
        (messages.recv_done == recv) & measured[recv] & (run.times.recv_ns == own[recv]),
    )


def longest_ns(run: Replay, costs: Network) -> IntArray:
    """The longest of the model's times of each call's own ends, shape (n_calls,); 0 where it has none."""
    messages, longest = run.program.messages, np.zeros(len(run.program.calls), dtype=np.int64)
    for call, done, end_ns in (
        (messages.send_call, messages.send_done, costs.send_ns),
        (messages.recv_call, messages.recv_done, costs.recv_ns),
    ):
        np.maximum.at(longest, call[done == call], end_ns[done == call])
    return longest


def _computes(run: Replay, edits: Sequence[Edit], cut: Cut) -> IntArray:
    """Computations after the edits, nanoseconds, shape (n_calls + n_ranks,).

    Factors multiply, and a step is balanced once, to the mean of what was recorded: the order of edits does not matter. So a
    computation can be in one balanced step only: each of two would take from it what makes the recorded ones alike.
    """
    pieces = cut.pieces
    number = {name: cut.regions.index(steps.region) for name, steps in cut.steps.items() if steps.region in cut.regions}
    balanced: set[tuple[str, int]] = set()
    taken = Taken(len(pieces.edge), "computations")
    for edit in edits:
        if edit.what == "balance" and "compute" in edit.parts:
            steps = cut.steps[edit.region]
            of_pieces = cut.pieces.step[number[edit.region]]
            wanted = _chosen_steps(steps, edit)
            taken.take(np.flatnonzero(np.isin(of_pieces, wanted) & (cut.pieces.lasts_ns > 0)), of_pieces, steps.region, edit)
            for step in wanted.tolist():
                if (steps.region, step) not in balanced:
                    pieces = pieces.balanced(number[edit.region], step, balanced_change(run, steps, step))
                    balanced.add((steps.region, step))
    lasts_ns = pieces.lasts_ns.copy()
    for edit in edits:
        if edit.what == "compute" and edit.region:
            lasts_ns[pieces.step[number[edit.region]] >= 0] *= edit.factor
        elif edit.what == "compute":
            lasts_ns[np.isin(pieces.edge, _computations_of(run, edit))] *= edit.factor
    return np.rint(np.bincount(pieces.edge, lasts_ns, len(run.times.compute_ns))).astype(np.int64)


def _is_of_region(edit: Edit) -> bool:
    """Whether an edit's computations are told by the passes through a region."""
    return (edit.what == "balance" and "compute" in edit.parts) or (edit.what == "compute" and edit.region != "")


def _computations_of(run: Replay, edit: Edit) -> IntArray:
    """Computations before the calls that an edit means, after a rank's last call, or all, as numbered in `Times.compute_ns`."""
    if edit.rank == EVERY and not edit.site:
        return np.arange(len(run.times.compute_ns))
    if edit.index == END:
        return np.array([len(run.program.calls) + rank_of(run, edit)])
    return np.unique(run.program.calls.call[events_of(run, edit)])


def balanced_change(run: Replay, steps: Steps, step: int) -> FloatArray:
    """What every computation gains if all ranks compute alike long in a step, nanoseconds, shape (n_calls + n_ranks,).

    Where all ranks make equally many calls in the step, each computation becomes the mean of those at its place: before the first
    call, between first and second, ..., behind the last. Otherwise a rank's computations are scaled by mean / t_k(p), and a rank
    that computes nothing gets the mean before its first call of the step (before its next call if it has none).
    """
    own = np.zeros(len(run.times.compute_ns))
    inside = np.flatnonzero(steps.edge_step == step)
    own[steps.edge[inside]] = steps.overlap_ns[inside]
    places = _places(run, steps, step)
    change = np.zeros(len(own))
    if places is not None:
        change[places] = own[places].mean(axis=0) - own[places]
        return change
    return _scaled_change(run, steps, step, inside)


def _places(run: Replay, steps: Steps, step: int) -> IntArray | None:
    """Computations of every rank in a step by place, shape (n_ranks, n_calls_of_a_rank + 1); None where ranks differ in calls."""
    calls, n_ranks = run.program.calls, run.program.n_ranks
    chosen = np.flatnonzero(steps.call_step == step)
    counts = np.bincount(calls.rank[chosen], minlength=n_ranks)
    if counts[0] == 0 or np.any(counts != counts[0]):
        return None
    # Calls of a rank in one step follow one another.
    before = chosen.reshape(n_ranks, -1)
    behind = before[:, -1] + 1
    last = behind == calls.first[1:]
    return np.column_stack((before, np.where(last, len(calls) + np.arange(n_ranks), behind)))


def _scaled_change(run: Replay, steps: Steps, step: int, inside: IntArray) -> FloatArray:
    """The change where every rank's computations are scaled to the mean of all ranks."""
    change = np.zeros(len(run.times.compute_ns))
    own = steps.compute_ns[:, step].astype(np.float64)
    mean = own.mean()
    calls = run.program.calls
    rank = np.concatenate((calls.rank, np.arange(run.program.n_ranks)))[steps.edge[inside]]
    np.add.at(change, steps.edge[inside], steps.overlap_ns[inside] * (mean / np.maximum(own[rank], 1) - 1.0))
    for idle in np.flatnonzero(own == 0).tolist():
        mine = np.arange(int(calls.first[idle]), int(calls.first[idle + 1]))
        later = mine[calls.start_ns[mine] >= steps.begin_ns[idle, step]]
        change[later[0] if len(later) else len(calls) + idle] += mean
    return change


def _shorten(run: Replay, changed: Replay, edits: Sequence[Edit], weights: IntArray) -> None:
    """Calls that take no time, or no longer than they wait: into the weights."""
    dag, graph = changed.graph.dag, changed.graph
    spent = None
    for edit in edits:
        if edit.what not in SHORTENING:
            continue
        for call in np.unique(run.program.calls.call[events_of(run, edit)]).tolist():
            node = int(graph.end_node[call])
            into = slice(int(dag.first[node]), int(dag.first[node + 1]))
            if edit.what == "processing":
                spent = processing(graph, changed.times) if spent is None else spent
                weights[into] -= spent[into]
            else:
                weights[into] = np.where(dag.tail[into] == graph.start_node[call], 0, NEVER)


def _moved(run: Replay, changed: Replay, edits: Sequence[Edit]) -> tuple[IntArray, IntArray] | None:
    """Starts that are moved so that waits go, and when; None where no wait goes."""
    waits = run.waits
    nodes: dict[int, int] = {}
    for edit in edits:
        if edit.what != "wait":
            continue
        events = events_of(run, edit)
        events = np.union1d(events, _completed_by(run, events))
        waiting = events[waits.zero_call[events] >= 0]
        if not len(waiting):
            first = events[:1]
            where = f"{run.program.calls.event_rank[first[0]]}:{event_number(run, first)[0]}" if len(first) else "nothing"
            raise UsageError(f"{edit.text}: {where} does not wait", hint="mlperf trace whatif TRACE lists the waits.")
        for event in waiting.tolist():
            node = int(changed.graph.start_node[waits.zero_call[event]])
            nodes[node] = min(nodes.get(node, int(waits.zero_ns[event])), int(waits.zero_ns[event]))
    if not nodes:
        return None
    order = sorted(nodes)
    return np.array(order, dtype=np.int64), np.array([nodes[node] for node in order], dtype=np.int64)


def _completed_by(run: Replay, events: IntArray) -> IntArray:
    """Posted ends that WAITs among some events complete: a WAIT waits for nobody but the partners of these."""
    posted, done = run.program.messages.posted()
    return posted[np.isin(run.program.calls.event[done], events)]
