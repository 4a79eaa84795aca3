"""Devices in traces of XLA's profiler (JAX, TensorFlow): processes ``/device:GPU:0`` whose threads are streams and summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.traces.events.kinds import HOST, Kind
from mlperf.traces.events.table import EventTable, column
from mlperf.traces.readers.chrome.categories import kind_of

DEVICE = re.compile(r"/device:(?!CPU)\w+:(\d+)\b")
STREAM = re.compile(r"Stream #(\d+)")
STEPS, OPERATIONS, IN_FLIGHT = "Steps", "XLA Ops", "Async XLA Ops"
STEP_NAME = "XLA step#"
DEVICE_STEP = "gpu_user_annotation"
COLLECTIVE = re.compile(r"%?(?:all-reduce|all-gather|all-to-all|reduce-scatter|collective-(?:permute|broadcast)|send|recv)\b")
COPY = re.compile(r"memcpy|%?copy(?:-start|-done)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a device's process.

    Attributes
    ----------
    pid, tid : int
    device : int
    name : str
    stream : int
        The stream's own number, or the thread's.
    works : bool
        Whether it tells what the device did; else it sums up what others tell.
    """

    pid: int
    tid: int
    device: int
    name: str
    stream: int
    works: bool


def with_xla_devices(table: EventTable, rank: int) -> EventTable:
    """The table of one document with the activities of devices that XLA's profiler told as such.

    What stands on streams, or of devices without any (TPUs) among ``XLA Ops``, becomes KERNEL, MEMCPY, MEMSET and COLL. Steps keep
    their numbers as marks on the device; other threads of a device (modules, scopes) say the same once more: they stay REGION rows,
    on the device, so that nobody takes them for the host's.
    """
    threads = list(_threads(table, rank))
    if not threads:
        return table
    strings = list(table.strings)
    known = {text: number for number, text in enumerate(strings)}
    changed = {name: column(getattr(table, name)).copy() for name in ("kind", "device", "stream", "name", "name2", "peer")}
    for thread in threads:
        rows = np.flatnonzero((table.pid == thread.pid) & (table.tid == thread.tid) & (table.kind == Kind.REGION))
        changed["device"][rows], changed["stream"][rows] = thread.device, thread.stream
        changed["name2"][rows] = _number(known, strings, DEVICE_STEP if thread.name == STEPS else thread.name)
        for name in np.unique(table.name[rows]).tolist():
            own = rows[table.name[rows] == name]
            text = table.strings[name] if name >= 0 else ""
            if thread.name == STEPS and text.isdigit():
                changed["name"][own] = _number(known, strings, f"{STEP_NAME}{text}")
            elif thread.works:
                kind = _kind(text)
                changed["kind"][own] = kind
                changed["peer"][own] = HOST if kind == Kind.MEMCPY and ("H2D" in text or "D2H" in text) else table.peer[own]
    return table.replace(strings=tuple(strings), **changed)


def _threads(table: EventTable, rank: int) -> Iterator[Thread]:
    """Threads of processes that are devices."""
    processes, threads = (table.attributes.get(name, {}) for name in ("process_names", "thread_names"))
    if not isinstance(processes, Mapping) or not isinstance(threads, Mapping):
        return
    devices = {key: int(found[1]) for key, name in processes.items() if (found := DEVICE.search(name)) and len(found[1]) < 10}
    names = {key: name for key, name in threads.items() if key.rpartition("/")[0] in devices}
    streamed = {key.rpartition("/")[0] for key, name in names.items() if STREAM.match(name)}
    for key, name in names.items():
        process, _, tid = key.rpartition("/")
        told = STREAM.match(name)
        works = told is not None if process in streamed else name in (OPERATIONS, IN_FLIGHT)
        stream = int(told[1]) if told and len(told[1]) < 10 else int(tid)
        yield Thread(int(process.removeprefix(f"{rank}/")), int(tid), devices[process], name, stream, works)


def _number(known: dict[str, int], strings: list[str], text: str) -> int:
    """Number of a text, a new one if need be."""
    if text not in known:
        known[text] = len(strings)
        strings.append(text)
    return known[text]


def _kind(name: str) -> Kind:
    """What a device did, by its name."""
    if COLLECTIVE.match(name):
        return Kind.COLL
    if COPY.match(name):
        return Kind.MEMCPY
    return Kind.MEMSET if name.lower().startswith("memset") else kind_of("kernel", name)
