"""Train on devices that sum their gradients over a ring, on links of given bandwidths: something for ``mlperf record`` to find.

Every rank but one is a device: in each step it computes, then all devices sum their gradients by a ring all-reduce (reduce-scatter,
then all-gather) in the order that ``--order`` gives. All messages travel by MPI, and the sums are checked. The links stand for
hardware that is not there: a message leaves its sender only after the time that the link between both takes by the table
``--links`` (bytes a second, rows send). Devices without a link of their own go through the place named HOST, whose rank is the
machine's memory: it passes on what it gets. Whoever waits sleeps, so that nine ranks fit on two cores.

    mlperf record -o run -- mpiexec -n 9 python ring.py --order 0,1,2,3,4,5,6,7
    mpiexec -n 9 python ring.py --probe measured.csv
    mlperf record advise run --links measured.csv
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

try:
    from mlperf.traces.recording import region
    from mlperf.traces.recording.mpi_proxy import wrap
except ImportError:

    def region(_name: str, _size_bytes: int = 0) -> nullcontext:
        """No toolkit, no marks."""
        return nullcontext()

    def wrap(comm: Any) -> Any:
        """No toolkit, no recorder."""
        return comm


HERE = Path(__file__).parent
HOST = "HOST"
PIECES = 2
"""What goes through the host is cut, so that one piece comes while another goes."""
REST_S, LONG_REST_S = 0.0002, 0.001
"""Between two looks at what came: when something may come or leave at once, and when nothing can leave yet."""
PROBES = 5


@dataclass(frozen=True)
class Machine:
    """Places and what their links carry."""

    places: tuple[str, ...]
    bytes_per_s: np.ndarray

    @property
    def devices(self) -> tuple[int, ...]:
        """Ranks that compute, in the order of the table."""
        return tuple(rank for rank, name in enumerate(self.places) if name != HOST)

    def is_direct(self, one: int, other: int) -> bool:
        """Whether two places have a link of their own."""
        return bool(self.bytes_per_s[one, other] > 0)

    def next_to(self, one: int, other: int) -> int:
        """Where a message from one place to another goes first."""
        return other if self.is_direct(one, other) else self.places.index(HOST)


def read_machine(path: Path) -> Machine:
    """A table with names in the first row and column."""
    with path.open(newline="", encoding="utf-8") as lines:
        head, *rows = (row for row in csv.reader(lines) if row and not row[0].startswith("#"))
    return Machine(tuple(head[1:]), np.array([[float(cell) for cell in row[1:]] for row in rows]))


def ring_steps(n: int) -> Iterator[tuple[int, bool]]:
    """Rounds of a ring all-reduce: how far round the ring the part is that the first device sends, and whether it is summed."""
    yield from ((-turn, True) for turn in range(n - 1))
    yield from ((1 - turn, False) for turn in range(n - 1))


def order_from(text: str, n: int) -> tuple[int, ...]:
    """Numbers of all devices, each once."""
    order = tuple(int(word) for word in text.split(","))
    if sorted(order) != list(range(n)):
        raise SystemExit(f"--order {text}: expected the numbers 0 to {n - 1}, each once")
    return order


class Sending:
    """A message on its way: MPI gets it when the link has had its time."""

    def __init__(self, comm: Any, message: tuple[Any, int, int], due_s: float) -> None:
        self.comm, self.message, self.due_s, self.request = comm, message, due_s, None

    def Test(self, status: Any = None) -> bool:
        """Whether the buffer may be used again."""
        if self.request is None:
            if time.monotonic() < self.due_s:
                return False
            self.request = self.comm.Isend(*self.message)
        return bool(self.request.Test(status))


class PacedLinks:
    """A communicator whose messages take as long as the links would; one message of a link after another."""

    def __init__(self, comm: Any, machine: Machine) -> None:
        self.comm, self.machine, self.rank = comm, machine, comm.Get_rank()
        self.free_s = [0.0] * len(machine.places)
        self.held: list[Sending] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.comm, name)

    def Isend(self, values: np.ndarray, dest: int, tag: int = 0) -> Sending:
        """Begin to send."""
        begin_s = max(time.monotonic(), self.free_s[dest])
        self.free_s[dest] = begin_s + values.nbytes / self.machine.bytes_per_s[self.rank, dest]
        self.held.append(Sending(self.comm, (values, dest, tag), self.free_s[dest]))
        return self.held[-1]

    def rest(self) -> None:
        """Sleep until something may have changed."""
        self.held = [each for each in self.held if each.request is None]
        left_s = min((each.due_s for each in self.held), default=0.0) - time.monotonic()
        time.sleep(min(max(left_s, REST_S), LONG_REST_S))


def wait_for(comm: Any, requests: list[Any]) -> None:
    """Sleep until all are done."""
    while requests := [each for each in requests if not each.Test()]:
        comm.rest()


class Device:
    """A rank that computes and exchanges."""

    def __init__(self, comm: Any, machine: Machine) -> None:
        self.comm, self.machine, self.rank = comm, machine, comm.Get_rank()

    def send(self, values: np.ndarray, dest: int) -> list[Any]:
        """Requests of a message; the tag says for whom it is."""
        first = self.machine.next_to(self.rank, dest)
        parts = [values] if first == dest else np.split(values, PIECES)
        return [self.comm.Isend(part, first, dest) for part in parts]

    def receive(self, values: np.ndarray, source: int) -> list[Any]:
        """The same of one that comes."""
        if self.machine.is_direct(source, self.rank):
            return [self.comm.Irecv(values, source, self.rank)]
        host = self.machine.places.index(HOST)
        return [self.comm.Irecv(part, host, tag_behind(self.machine, source, self.rank)) for part in np.split(values, PIECES)]

    def all_reduce(self, values: np.ndarray, ring: tuple[int, ...]) -> None:
        """The sum over all devices, in place."""
        n, at = len(ring), ring.index(self.rank)
        parts = np.split(values, n)
        come = np.empty_like(parts[0])
        for offset, is_summed in ring_steps(n):
            leaving, coming = parts[(at + offset) % n], parts[(at + offset - 1) % n]
            buffer = come if is_summed else coming
            wait_for(self.comm, [*self.receive(buffer, ring[at - 1]), *self.send(leaving, ring[(at + 1) % n])])
            if is_summed:
                coming += come

    def begin_alike(self, values: np.ndarray, ring: tuple[int, ...]) -> None:
        """All devices get the first one's weights."""
        if self.rank == ring[0]:
            wait_for(self.comm, [request for other in ring[1:] for request in self.send(values, other)])
        else:
            wait_for(self.comm, self.receive(values, ring[0]))


def tag_behind(machine: Machine, source: int, dest: int) -> int:
    """Tag of a message that the host passes on: it names both ends."""
    return (source + 1) * len(machine.places) + dest


def passing(machine: Machine, ring: tuple[int, ...], n_steps: int) -> dict[tuple[int, int], list[int]]:
    """By sender and receiver what goes through the host: sizes of the pieces, in parts of a ring's part."""
    n = len(ring)
    found: dict[tuple[int, int], list[int]] = {}
    for other in ring[1:]:
        if not machine.is_direct(ring[0], other):
            found.setdefault((ring[0], other), []).extend([n] * PIECES)
    for at, one in enumerate(ring):
        other = ring[(at + 1) % n]
        if not machine.is_direct(one, other):
            found.setdefault((one, other), []).extend([1] * (PIECES * 2 * (n - 1) * n_steps))
    return found


def pass_on(comm: Any, machine: Machine, flows: dict[tuple[int, int], list[int]], piece: int) -> None:
    """The host's memory: whatever comes goes on, until all of it passed."""
    left = {ends: list(sizes) for ends, sizes in flows.items()}
    coming: dict[tuple[int, int], tuple[Any, np.ndarray]] = {}
    going: list[tuple[Any, np.ndarray]] = []
    while left or coming or going:
        for ends in [each for each in left if each not in coming]:
            buffer = np.empty(left[ends].pop(0) * piece, dtype=np.float32)
            coming[ends] = (comm.Irecv(buffer, ends[0], ends[1]), buffer)
            if not left[ends]:
                del left[ends]
        for ends in [each for each, (request, _) in coming.items() if request.Test()]:
            buffer = coming.pop(ends)[1]
            going.append((comm.Isend(buffer, ends[1], tag_behind(machine, *ends)), buffer))
        going = [each for each in going if not each[0].Test()]
        comm.rest()


def train(comm: Any, machine: Machine, options: argparse.Namespace) -> list[float]:
    """All steps, and how long each took, seconds; none on the host."""
    order = order_from(options.order, len(machine.devices))
    ring = tuple(machine.devices[number] for number in order)
    n, piece = len(ring), options.values // PIECES
    if comm.Get_rank() not in ring:
        pass_on(comm, machine, passing(machine, ring, options.steps), piece)
        return []
    device = Device(comm, machine)
    weights = np.full(n * PIECES * piece, float(comm.Get_rank()), dtype=np.float32)
    device.begin_alike(weights, ring)
    times = []
    for step in range(options.steps):
        begun = time.perf_counter()
        with region("step"):
            with region("forward"):
                time.sleep(options.compute_ms * 1e-3)
                gradient = weights - ring[0] + np.float32(device.rank + step)
            with region("allreduce"):
                device.all_reduce(gradient, ring)
        times.append(time.perf_counter() - begun)
        if not np.allclose(gradient, sum(ring) + n * step):
            print(f"rank {device.rank}, step {step}: the sum is wrong", flush=True)
            comm.Abort(1)
    return times


def probe(comm: Any, machine: Machine, n_values: int) -> np.ndarray:
    """Bandwidth of each link, measured: one message at a time over the whole machine, bytes a second at the receivers."""
    rank, n = comm.Get_rank(), len(machine.places)
    values, found = np.zeros(n_values, dtype=np.float32), np.zeros((n, n))
    begun = np.zeros(1)
    for one, other in ((one, other) for one in range(n) for other in range(n) if machine.is_direct(one, other)):
        taken = []
        for _ in range(PROBES if rank in (one, other) else 0):
            begun[0] = time.monotonic()
            if rank == one:
                wait_for(comm, [comm.comm.Isend(begun, other, 0), comm.Isend(values, other, 1)])
            else:
                wait_for(comm, [comm.Irecv(begun, one, 0), comm.Irecv(values, one, 1)])
                taken.append(time.monotonic() - begun[0])
        if rank == other:
            found[one, other] = values.nbytes / np.median(taken)
    return found


def write_machine(path: Path, machine: Machine, found: np.ndarray) -> None:
    """The same table with what was measured."""
    rows = [[name, *(f"{cell:.0f}" for cell in row)] for name, row in zip(machine.places, found, strict=True)]
    lines = [["", *machine.places], *rows]
    path.write_text("\n".join(",".join(line) for line in lines) + "\n", encoding="utf-8")


def main() -> None:
    """Read the options, train or probe, write the log."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--order", default="0,1,2,3,4,5,6,7", help="devices as they follow in the ring, the first one is 0")
    parser.add_argument("--links", type=Path, default=HERE / "machine.csv", help="bandwidth of every link, bytes a second")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--values", type=int, default=32_768, help="of the gradient, in each of as many parts as there are devices")
    parser.add_argument("--compute-ms", type=float, default=40.0)
    parser.add_argument("--probe", type=Path, help="measure every link once and write the table")
    parser.add_argument("--log", type=Path, help="JSON file that gets the length of every step, seconds")
    options = parser.parse_args()
    from mpi4py import MPI

    machine = read_machine(options.links)
    comm = MPI.COMM_WORLD
    if comm.Get_size() != len(machine.places):
        raise SystemExit(f"got {comm.Get_size()} ranks, expected one for each of {', '.join(machine.places)}")
    if options.probe:
        found = comm.reduce(probe(PacedLinks(comm, machine), machine, options.values), MPI.SUM)
        if comm.Get_rank() == 0:
            write_machine(options.probe, machine, found)
        return
    links = PacedLinks(comm, machine)
    # Without a recorder nobody wants the files of its ranks.
    times = train(wrap(links) if "MLPERF_RECORD_DIR" in os.environ else links, machine, options)
    if options.log and times:
        options.log.with_name(f"{options.log.stem}-{comm.Get_rank()}{options.log.suffix}").write_text(json.dumps({"step_s": times}))
    if comm.Get_rank() == machine.devices[0]:
        print(f"{len(times)} steps of {np.mean(times[1:]) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
