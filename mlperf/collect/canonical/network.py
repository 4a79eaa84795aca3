"""One call that measures the network between two processes into a table: `collect_network`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.collect.canonical.summary import MeasuredConstants
from mlperf.collect.protocol.clocks import load_average, require_clocks
from mlperf.collect.protocol.host import FILE_NAME, check_same, host_record, write_host
from mlperf.collect.protocol.protocol import interruptible
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.collect.trainer.launch import STOPPED, answer_of_ranks, mpiexec_command
from mlperf.core.errors import InterruptedRun, UsageError
from mlperf.core.places import make_folder, take_path
from mlperf.core.progress import shown_progress
from mlperf.datasets.dictionary.server_schema import NETWORK, SERVER_TABLES
from mlperf.datasets.reading.read import read_table

PLACE = "mlperf collect network"
MODULE = "mlperf.collect.canonical.pingpong"
SIZES = tuple(4**exponent for exponent in range(13))
"""1 byte to 16 MiB."""

MOST_TRIPS, TRIP_BYTES = 50, 64 * 2**20
ROUNDS, QUICK_ROUNDS = 5, 2
LAUNCH_S = 2.0


@dataclass(frozen=True, slots=True)
class NetworkRequest:
    """What to measure.

    Attributes
    ----------
    out : Path or str
        Folder; gets ``network.csv``.
    most_pairs : int or None
        Pairs that send at the same time, for C_ncost(H); None: as many as this machine has cores for, at least 1.
    rounds : int or None
        Launches with every number of pairs.
    quick : bool
        Two rounds.
    mpiexec : str or None
        Launcher with its arguments; with a host file the ranks i and i + n/2 must lie on two machines.
    nominal_bytes_per_s : float
        What the NIC can do as its maker says; 0: unknown.
    """

    out: Path
    most_pairs: int | None = None
    rounds: int | None = None
    quick: bool = False
    mpiexec: str | None = None
    nominal_bytes_per_s: float = 0.0

    def __post_init__(self) -> None:
        take_path(self)


def collect_network(request: NetworkRequest, *, show_progress: bool = False) -> MeasuredConstants:
    """Measure C_ncost, C_nbw and C_ncost(H) by MPI ping-pong.

    Parameters
    ----------
    request : NetworkRequest
        What to measure; launches that the folder holds are not made again. On one machine the rows say ``loopback``: nothing of a
        network is in them.
    show_progress : bool
        Whether a bar is drawn on stderr.

    Raises
    ------
    MissingExtraError
        mpi4py or mpiexec is absent.
    UsageError
        A message was faster than the NIC can be, or the folder was begun on another machine.
    InterruptedRun
        Ctrl-C: finished launches are in the table.
    """
    require_clocks()
    launcher = mpiexec_command(request.mpiexec)
    make_folder(request.out, above=True)
    record = host_record({"network": {"clock": "perf_counter, elapsed time", "sizes_bytes": SIZES}}, {})
    check_same(request.out / FILE_NAME, record, ("network",))
    write_host(request.out / FILE_NAME, record)
    n_rounds = request.rounds or (QUICK_ROUNDS if request.quick else ROUNDS)
    most = request.most_pairs or max(1, (os.cpu_count() or 2) // 2)
    table = GrowingTable(request.out, "network", SERVER_TABLES)
    begun_s, sequence = time.monotonic(), len(table.rows())
    with interruptible(request.out, "launch"), shown_progress(show_progress) as progress:
        done = launches_done(table.rows(), launcher)
        launches = [(number, n_pairs) for number in range(1, n_rounds + 1) for n_pairs in range(1, most + 1)]
        todo = [launch for launch in launches if launch not in done]
        progress.announce(f"{n_rounds} rounds of 1 to {most} pairs, {len(todo)} launches: about {len(todo) * LAUNCH_S:.0f} s")
        progress.start("network", len(todo))
        for number, n_pairs in todo:
            rows = rows_of(launcher, n_pairs, {"round": number, "load": load_average(), "reference_s": 0.0}, sequence)
            sequence += len(rows)
            table.add(rows)
            table.flush()
            progress.advance()
    found = read_table(request.out / "network.csv", NETWORK, "keep")
    cases = len(found.groupby(list(NETWORK.key)))
    flags = network_flags(found, request.nominal_bytes_per_s)
    return MeasuredConstants(str(request.out), "network", len(found), cases, time.monotonic() - begun_s, flags)


def launches_done(rows: Sequence[Mapping[str, str]], launcher: list[str]) -> set[tuple[int, int]]:
    """Round and number of pairs of the launches that a folder holds over the same transport, by its rows.

    Only a launch tells whether a launcher goes to other machines; in a new folder none is needed.
    """
    if not rows:
        return set()
    transport = transport_of(answer_of(launcher, 2, [(1, 1)]))
    return {(int(row["round"]), int(row["n_pairs"])) for row in rows if row["transport"] == transport}


def answer_of(launcher: list[str], n_ranks: int, trips: Sequence[tuple[int, int]]) -> Any:
    """What one launch says of messages of some sizes, each sent some times; a Ctrl-C is told by who knows what is kept."""
    try:
        return answer_of_ranks(launcher, n_ranks, MODULE, {"trips": trips})
    except InterruptedRun as error:
        if error.message == STOPPED:
            raise KeyboardInterrupt from None
        raise


def transport_of(answer: Mapping[str, Any]) -> str:
    """Whether the ranks of a launch lay on one machine."""
    return "network" if answer["n_hosts"] > 1 else "loopback"


def rows_of(launcher: list[str], n_pairs: int, sample: dict[str, Any], sequence: int) -> list[dict[str, Any]]:
    """Rows of one launch: the median trip of every size."""
    trips = [(size, max(3, min(MOST_TRIPS, TRIP_BYTES // size))) for size in SIZES]
    result = answer_of(launcher, 2 * n_pairs, trips)
    transport = transport_of(result)
    return [
        {
            "transport": transport,
            "size_bytes": size,
            "n_pairs": n_pairs,
            "time_s": float(pd.Series(times).median()),
            **sample,
            "sequence": sequence + place,
        }
        for place, ((size, _), times) in enumerate(zip(trips, result["times_s"], strict=True), start=1)
    ]


def network_flags(rows: pd.DataFrame, nominal_bytes_per_s: float = 0.0) -> tuple[str, ...]:
    """What to know about the rows.

    Raises
    ------
    UsageError
        Large messages between machines went faster than ``nominal_bytes_per_s``.
    """
    large = rows[(rows["size_bytes"] == rows["size_bytes"].max()) & (rows["n_pairs"] == 1)]
    fastest = float((large["size_bytes"] / large["time_s"]).max())
    if 0 < nominal_bytes_per_s < fastest and (rows["transport"] == "network").any():
        raise UsageError(f"got {fastest:.3g} bytes/s, expected at most the NIC's {nominal_bytes_per_s:.3g}", place=PLACE)
    if (rows["transport"] == "loopback").any():
        return ("loopback: both processes on one machine; predictions for several machines lie outside what was measured",)
    return ()
