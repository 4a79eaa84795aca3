"""How much slower a network may be before the run is: slopes of T, and the parameter at which T has grown by a share."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.jit import jit
from mlperf.core.shown import Shown
from mlperf.systems.loggps.costs import message_slopes
from mlperf.traces.graph.dag import Numbers, forward
from mlperf.traces.replay.run import Replay, replay_times, time_s
from mlperf.traces.replay.times import Times, edge_weights
from mlperf.traces.replay.timing import network
from mlperf.traces.whatif.combine import longest_ns, retimed, whole_ends
from mlperf.traces.whatif.load import Validation, network_text, validation_of

PARAMETERS = {"L": "latency_s", "o": "overhead_s", "G": "gap_s_per_byte"}
NS = 1e-9
MOST_STEPS = 60
SMALLEST = {"latency_s": 1e-9, "overhead_s": 1e-9, "gap_s_per_byte": 1e-12}
"""Where the search for a tolerance starts to double, seconds."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tolerance(Shown, frame="parameters"):
    """What the network's parameters weigh in a run.

    Attributes
    ----------
    source, network : str
    time_s : float
        T of the replay, seconds.
    share : float
        The growth of T that is tolerated.
    parameters : DataFrame
        Per parameter: its value; how many of it are on the critical path (dT/dx to the right and to the left: numbers of L and o,
        bytes of G); lambda, the share of T that they make up; how much it may grow until T has grown by `share` (infinite if
        it never does), and its value then. All NaN of one that the preset's constants hide.
    eager_limits : DataFrame
        T for other eager limits, at quantiles of the messages' sizes; NaN where calls would wait for one another in a circle.
    modelled_share : float
        Share of the time without waits that is modelled; the rest holds the machine that it was recorded on.
    validation : Validation
    """

    source: str
    network: str
    time_s: float
    share: float
    parameters: pd.DataFrame
    eager_limits: pd.DataFrame
    modelled_share: float
    validation: Validation


def tolerance(run: Replay, share: float = 0.01) -> Tolerance:
    """Slopes and tolerances of L, o and G, and T for other eager limits.

    T is convex and piecewise linear in L, o and G: the value at which it reaches (1 + share) T0 is found by Newton's steps, which
    from the right never overshoot. T is no monotone function of the eager limit, which is only tried.
    """
    found = validation_of(run)
    rows: list[tuple[object, ...]] = []
    for symbol, name in PARAMETERS.items():
        if name in run.timing.preset.unused:
            rows.append((symbol, *(float("nan"),) * 6))
            continue
        right, left = slopes(run, name)
        value = float(getattr(run.timing.parameters, name))
        more = tolerated(run, name, share)
        rows.append((symbol, value, right, left, right * value / (run.total_ns * NS), more, value + more))
    columns = ["parameter", "value_s", "slope_right", "slope_left", "lambda", "tolerated_s", "tolerated_value_s"]
    return Tolerance(
        ", ".join(run.program.table.sources),
        network_text(run.timing),
        run.total_ns * NS,
        share,
        pd.DataFrame(rows, columns=columns),
        _eager_limits(run),
        found.modelled_share,
        found,
    )


def slopes(run: Replay, name: str) -> tuple[int, int]:
    """Derivatives of T by one parameter to the right and to the left: how many of it are on the longest paths.

    Of several longest paths the one with most, and with least, of it.
    """
    dag = run.graph.dag
    found = []
    for sign in (1, -1):
        slope = _path_slopes(dag.first, dag.tail, run.weight_ns, run.time_ns, sign * _edge_slopes(run, name, sign))
        last = run.graph.ends & (run.time_ns == run.total_ns)
        found.append(int(sign * slope[last].max()))
    return found[0], found[1]


def _edge_slopes(run: Replay, name: str, sign: int) -> IntArray:
    """How many of a parameter are in the weight of each edge, shape (n_edges,); of a call with two ends, of the longer one.

    Of a call that was measured as a whole the longer one is told by the model's times, as `retimed` has it. Where both last alike
    long, the larger (``sign`` 1) or the smaller (-1) number.
    """
    messages = run.program.messages
    costs = message_slopes(run.timing.preset, run.timing.parameters, messages.size_bytes, name)
    send, recv, off = (np.rint(each).astype(np.int64) for each in (costs.send, costs.recv, costs.off))
    model = longest_ns(run, run.network)
    of_longest = sign * _largest(run, sign * send, sign * recv, run.network.send_ns, run.network.recv_ns, model)
    whole_send, whole_recv = whole_ends(run)
    send = np.where(whole_send, of_longest[messages.send_call], send)
    recv = np.where(whole_recv, of_longest[messages.recv_call], recv)
    own = sign * _largest(run, sign * send, sign * recv, run.times.send_ns, run.times.recv_ns, run.times.own_ns)
    if name == "overhead_s":
        own[messages.posts(run.program.calls)] = 1
    compute = np.zeros(len(run.times.compute_ns), dtype=np.int64)
    return edge_weights(run.graph, Times(compute, own, send, recv, off, np.zeros(len(messages), dtype=np.int64)))


def _largest(run: Replay, send: IntArray, recv: IntArray, send_ns: IntArray, recv_ns: IntArray, lasts_ns: IntArray) -> IntArray:
    """The largest value among the own ends of each call that last as long as the call does, shape (n_calls,); 0 without any."""
    messages, unset = run.program.messages, np.iinfo(np.int64).min
    largest = np.full(len(lasts_ns), unset, dtype=np.int64)
    for call, done, values, end_ns in (
        (messages.send_call, messages.send_done, send, send_ns),
        (messages.recv_call, messages.recv_done, recv, recv_ns),
    ):
        chosen = (call == done) & (end_ns == lasts_ns[call])
        np.maximum.at(largest, call[chosen], values[chosen])
    return np.where(largest == unset, 0, largest)


@jit
def _path_slopes(first: IntArray, tail: Numbers, weight_ns: IntArray, time_ns: IntArray, slope: IntArray) -> IntArray:
    """The largest sum of slopes along any longest path to each node."""
    total = np.zeros(len(first) - 1, dtype=np.int64)
    for node in range(len(first) - 1):
        found = False
        for edge in range(first[node], first[node + 1]):
            if time_ns[tail[edge]] + weight_ns[edge] == time_ns[node]:
                candidate = total[tail[edge]] + slope[edge]
                if not found or candidate > total[node]:
                    total[node] = candidate
                    found = True
    return total


def changed(run: Replay, **parameters: float) -> Replay:
    """The run with other parameters of its network; durations that were measured change by what the model's change."""
    timing = dataclasses.replace(run.timing, parameters=run.timing.parameters.replace(**parameters))
    costs = network(timing, run.program.messages.size_bytes)
    times = retimed(run, costs)
    if np.array_equal(costs.eager, run.graph.eager):
        weights = edge_weights(run.graph, times)
        return Replay(timing, costs, run.graph, times, run.splits, weights, forward(run.graph.dag, weights))
    return replay_times(run.program, timing, costs, times, run.splits)


def tolerated(run: Replay, name: str, share: float) -> float:
    """By how much a parameter may grow until T has grown by a share, seconds (a byte); infinite if no growth does that."""
    value, target = float(getattr(run.timing.parameters, name)), run.total_ns * (1.0 + share)
    more = SMALLEST[name]
    for _ in range(MOST_STEPS):
        now = changed(run, **{name: value + more})
        if now.total_ns >= target:
            break
        slope = slopes(now, name)[0]
        more = more + max((target - now.total_ns) * NS / slope, more) if slope > 0 else 2.0 * more
        if more > 1e6:
            return float("inf")
    for _ in range(MOST_STEPS):
        now = changed(run, **{name: value + more})
        # To the left of a corner the slope is the smaller one: a step with it would leave the convex side.
        slope = slopes(now, name)[1]
        step = (now.total_ns - target) * NS / slope if slope > 0 else 0.0
        if step <= more * 1e-12 or now.total_ns <= target:
            break
        more -= step
    return more


def _eager_limits(run: Replay) -> pd.DataFrame:
    """T at eager limits that are quantiles of the sizes; NaN at one under which calls would wait for one another for ever."""
    sizes = run.program.messages.size_bytes
    limits = np.unique(np.concatenate(([0.0], np.quantile(sizes, QUANTILES, method="higher")))) if len(sizes) else np.zeros(1)
    rows = [(limit, time_s(partial(changed, run, eager_limit_bytes=float(limit)))) for limit in limits.tolist()]
    return pd.DataFrame(rows, columns=["eager_limit_bytes", "time_s"])
