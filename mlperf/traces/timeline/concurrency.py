"""What a run mostly did in every tenth of a second: user code, the system, waiting for disks, devices, messages, the network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.counters import CounterTable
from mlperf.traces.events.kinds import COMMUNICATION, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.intervals import Intervals, union

WINDOW_NS = 100_000_000
MOST_WINDOWS = 1_000_000
"""A day is cut into tenths of a second; longer ones into longer windows."""
LEAST_SHARE = 0.05
"""A window in which nothing reaches this share is idle."""
NETWORK_BYTES_PER_S = 125_000_000.0
"""What the network is set against where its speed is not given: one gigabit a second."""
ACTIVITIES: Mapping[str, str] = {
    "usr": "processor in user code, in cores, at most one",
    "sys": "processor in the system, in cores, at most one",
    "iowait": "processor waiting for disks, in cores, at most one",
    "gpu": "a device computes",
    "comm": "a message, collective operation or copy is under way",
    "net": "bytes on network interfaces against their speed",
}
"""What may be the largest of a window, and of what its share is."""
IDLE = "idle"
LOOPBACK = "lo"


def concurrency(
    events: EventTable,
    counters: CounterTable,
    span_ns: tuple[int, int],
    *,
    window_ns: int = WINDOW_NS,
    network_bytes_per_s: float = NETWORK_BYTES_PER_S,
) -> pd.DataFrame:
    """Shares of every window that each activity takes, and the largest of them.

    Parameters
    ----------
    events : EventTable
        Devices and messages.
    counters : CounterTable
        ``cpu.user, cpu.system, cpu.iowait`` of the whole machine, ``net.received, net.sent`` of its interfaces.
    span_ns : tuple of int
        Start and end.
    window_ns : int
        Length of a window; longer where there would be more than a million.
    network_bytes_per_s : float
        Speed that network rates are set against.

    Returns
    -------
    DataFrame
        One row a window: ``start_s, length_s``, a share from 0 to 1 for each of `ACTIVITIES` (NaN: nothing tells), ``largest``
        (``"idle"`` where none reaches 5 %), ``largest_share``.

    References
    ----------
    SOFA, concurrency breakdown.
    """
    begin, end = span_ns
    window_ns = max(window_ns, (end - begin) // MOST_WINDOWS)
    edges = np.append(np.arange(begin, max(end, begin + 1), window_ns), max(end, begin + 1)).astype(np.int64)
    device, messages = _device_work(events), _messages(events)
    shares = {
        "usr": _cores(counters, "cpu.user", edges),
        "sys": _cores(counters, "cpu.system", edges),
        "iowait": _cores(counters, "cpu.iowait", edges),
        "gpu": _covered(device, edges),
        "comm": _covered(messages, edges),
        "net": _network(counters, edges) / network_bytes_per_s,
    }
    table = pd.DataFrame({name: np.minimum(values, 1.0) for name, values in shares.items()})
    known = table.fillna(0.0).to_numpy()
    place, largest = known.argmax(axis=1), known.max(axis=1)
    names = np.array([*ACTIVITIES, IDLE])
    table.insert(0, "start_s", edges[:-1] * 1e-9)
    table.insert(1, "length_s", np.diff(edges) * 1e-9)
    table["largest"] = names[np.where(largest >= LEAST_SHARE, place, len(ACTIVITIES))]
    table["largest_share"] = largest
    return table


def concurrency_summary(windows: pd.DataFrame) -> pd.DataFrame:
    """How often each activity is the largest: ``activity, meaning, time_s, run_share, mean_share``, idle windows last."""
    total = float(windows["length_s"].sum())
    rows = []
    for name in (*ACTIVITIES, IDLE):
        time = float(windows.loc[windows["largest"] == name, "length_s"].sum())
        told = name != IDLE and bool(windows[name].notna().any())
        mean = float(np.average(windows[name].fillna(0.0), weights=windows["length_s"])) if told else float("nan")
        rows.append((name, ACTIVITIES.get(name, f"nothing above {LEAST_SHARE:.0%}"), time, time / total if total else 0.0, mean))
    return pd.DataFrame(rows, columns=["activity", "meaning", "time_s", "run_share", "mean_share"])


def mean_rates(time_ns: IntArray, value: FloatArray, edges: IntArray) -> FloatArray:
    """Mean in each window of a rate whose readings hold since the one before; NaN where no reading holds.

    Parameters
    ----------
    time_ns, value : array, shape (n_readings,)
        By time.
    edges : array of int64, shape (n_windows + 1,)
    """
    if len(time_ns) < 2:
        return np.full(len(edges) - 1, np.nan)
    total = np.concatenate(([0.0], np.cumsum(value[1:] * np.diff(time_ns))))
    at = np.clip(edges, time_ns[0], time_ns[-1])
    held = np.diff(at).astype(float)
    amount = np.diff(np.interp(at, time_ns, total))
    found = np.full(len(held), np.nan)
    found[held > 0] = amount[held > 0] / held[held > 0]
    return found


def _cores(counters: CounterTable, name: str, edges: IntArray) -> FloatArray:
    """Cores of the whole machine in each window."""
    numbers = counters.numbers(name, "")
    return mean_rates(*counters.of(numbers[0]), edges) if numbers else np.full(len(edges) - 1, np.nan)


def _network(counters: CounterTable, edges: IntArray) -> FloatArray:
    """Bytes a second of the busiest direction of the busiest interface, the machine's own loop left out."""
    numbers = [
        number
        for name in ("net.received", "net.sent")
        for number in counters.numbers(name)
        if counters.about[number].what != LOOPBACK
    ]
    found = np.full(len(edges) - 1, np.nan)
    for number in numbers:
        found = np.fmax(found, mean_rates(*counters.of(number), edges))
    return found


def _device_work(events: EventTable) -> Intervals | None:
    """When a device computes; None without any."""
    rows = np.isin(events.kind, [int(kind) for kind in (Kind.KERNEL, Kind.MEMSET)])
    return union(events.start_ns[rows], events.end_ns[rows]) if rows.any() else None


def _messages(events: EventTable) -> Intervals | None:
    """When anything is communicated; None without any."""
    rows = np.isin(events.kind, [int(kind) for kind in (*COMMUNICATION, Kind.MEMCPY)])
    return union(events.start_ns[rows], events.end_ns[rows]) if rows.any() else None


def _covered(found: Intervals | None, edges: IntArray) -> FloatArray:
    """Share of each window that intervals cover."""
    if found is None:
        return np.full(len(edges) - 1, np.nan)
    before = np.concatenate(([0], np.cumsum(found.end_ns - found.start_ns)))
    place = np.searchsorted(found.start_ns, edges, "right")
    inside = np.where(
        place > 0, np.minimum(edges, found.end_ns[np.maximum(place - 1, 0)]) - found.start_ns[np.maximum(place - 1, 0)], 0
    )
    until = before[np.maximum(place - 1, 0)] + np.where(place > 0, inside, 0)
    share: FloatArray = np.diff(until) / np.diff(edges)
    return share
