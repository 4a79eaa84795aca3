"""Real programs of four ranks: the recording says what they said."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.recorded import read_recorded
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.recording.build import compiler
from mlperf.traces.recording.recorded import Recorded
from mlperf.traces.recording.run import RecordRequest, library_of, record

from .conftest import MPIEXEC, PROGRAMS, line_of

pytestmark = pytest.mark.slow

N_RANKS, N_TURNS = 4, 5
Run = Callable[..., tuple[Recorded, Path]]


def rows_of(table: EventTable, tag: int, *kinds: Kind) -> np.ndarray:
    return np.flatnonzero((table.tag == tag) & np.isin(table.kind, kinds))


def test_posted_messages_have_peer_size_and_wait(talked: EventTable) -> None:
    sends, receives = rows_of(talked, 11, Kind.ISEND), rows_of(talked, 11, Kind.IRECV)
    assert len(sends) == len(receives) == N_RANKS * N_TURNS
    assert (talked.peer[sends] == (talked.rank[sends] + 1) % N_RANKS).all()
    assert (talked.peer[receives] == (talked.rank[receives] - 1) % N_RANKS).all()
    # The room of the receive was 100 000 bytes: what counts is what came.
    assert (talked.size_bytes[receives] == 500).all()
    for row in (*sends.tolist(), *receives.tolist()):
        wait = np.flatnonzero((talked.kind == Kind.WAIT) & (talked.corr == talked.corr[row]))
        assert len(wait) == 1
        assert talked.rank[wait[0]] == talked.rank[row]
        assert talked.end_ns[wait[0]] >= talked.end_ns[row]


def test_a_receive_from_anybody_names_who_sent(talked: EventTable) -> None:
    rows = rows_of(talked, 12, Kind.IRECV)
    assert len(rows) == N_RANKS * N_TURNS
    assert (talked.flags[rows] & Flag.WILDCARD > 0).all()
    assert (talked.peer[rows] == (talked.rank[rows] - 1) % N_RANKS).all()
    assert (talked.size_bytes[rows] == 100).all()


def test_every_start_of_a_persistent_request_is_a_message(talked: EventTable) -> None:
    sends, receives = rows_of(talked, 13, Kind.ISEND), rows_of(talked, 13, Kind.IRECV)
    assert len(sends) == len(receives) == 2 * N_RANKS * N_TURNS
    assert (talked.size_bytes[receives] == 70).all()
    assert (talked.match[sends] >= 0).all()


def test_a_test_that_finds_nothing_is_no_event(talked: EventTable) -> None:
    assert Counter(talked.text(talked.name))["MPI_Test"] == N_RANKS * N_TURNS


def test_a_receive_begins_where_its_probe_did(talked: EventTable) -> None:
    probed, matched = rows_of(talked, 21, Kind.RECV), rows_of(talked, 22, Kind.RECV)
    assert talked.text(talked.name[[*probed, *matched]]) == ["MPI_Recv", "MPI_Mrecv"]
    assert (talked.flags[[*probed, *matched]] & Flag.WILDCARD > 0).all()
    assert talked.size_bytes[[*probed, *matched]].tolist() == [40, 60]
    assert talked.peer[[*probed, *matched]].tolist() == [2, 0]
    assert "MPI_Probe" not in talked.text(talked.name)


def test_ranks_of_communicators_are_ranks_of_the_world(talked: EventTable) -> None:
    sends, receives = rows_of(talked, 31, Kind.SEND), rows_of(talked, 31, Kind.RECV)
    partner = {0: 2, 2: 0, 1: 3, 3: 1}
    assert {int(talked.rank[row]): int(talked.peer[row]) for row in sends} == partner
    assert (talked.flags[sends] & Flag.PAIRED > 0).all()
    assert (talked.corr[np.sort(sends)] == talked.corr[np.sort(receives)]).all()
    assert len(set(talked.comm[sends].tolist())) == 2
    assert talked.match[sends].tolist() == [receives[talked.rank[receives] == partner[int(rank)]][0] for rank in talked.rank[sends]]


def test_members_of_an_operation_share_a_number(talked: EventTable) -> None:
    names = np.array(talked.text(talked.name))
    for name, size, n_operations, roots in (
        ("MPI_Allreduce", 8, 2, {-1}),
        ("MPI_Bcast", 8, 2, {2, 3}),
        ("MPI_Gather", 4, 1, {3}),
        ("MPI_Barrier", 0, N_TURNS, {-1}),
    ):
        rows = np.flatnonzero(names == name)
        assert len(set(talked.corr[rows].tolist())) == n_operations, name
        assert set(talked.peer[rows].tolist()) == roots
        assert set(talked.size_bytes[rows].tolist()) == {size}
        assert set(Counter(talked.corr[rows].tolist()).values()) == {
            N_RANKS * (N_TURNS if name == "MPI_Barrier" else 1) // n_operations
        }


def test_what_goes_nowhere_is_no_message(talked: EventTable) -> None:
    rows = rows_of(talked, 32, Kind.SEND, Kind.RECV)
    assert sorted(zip(talked.rank[rows].tolist(), talked.peer[rows].tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert (talked.flags[rows] & Flag.PAIRED == 0).all()


def test_regions_are_named_repeated_and_nested(talked: EventTable) -> None:
    regions = talked.of_kind(Kind.REGION)
    names = np.array(regions.text(regions.name))
    assert Counter(names.tolist()) == {"loop": N_RANKS * N_TURNS, "PRGN": N_RANKS * N_TURNS}
    for rank in range(N_RANKS):
        loop = regions.take((names == "loop") & (regions.rank == rank))
        inner = regions.take((names == "PRGN") & (regions.rank == rank))
        assert loop.step.tolist() == inner.step.tolist() == list(range(N_TURNS))
        assert (loop.start_ns <= inner.start_ns).all()
        assert (inner.end_ns <= loop.end_ns).all()


def test_calls_stand_where_the_program_has_them(talked: EventTable) -> None:
    row = rows_of(talked, 11, Kind.ISEND)[0]
    assert talked.text(talked.site[[row]]) == [f"talk.c:{line_of('talk.c', 'next, 11')} requests"]


def test_one_clock_for_ranks_of_one_machine(talked: EventTable) -> None:
    barriers = np.flatnonzero(np.array(talked.text(talked.name)) == "MPI_Barrier")
    for operation in set(talked.corr[barriers].tolist()):
        rows = barriers[talked.corr[barriers] == operation]
        assert talked.end_ns[rows].min() >= talked.start_ns[rows].max()
    assert talked.attributes["clock_uncertainty_ns"] == dict.fromkeys(range(N_RANKS), 0.0)


def test_every_small_send_is_waited_for_by_itself(library: Path, tmp_path: Path) -> None:
    """Handles that a library gives out more than once do not hide which wait completes which send."""
    program = tmp_path / "small"
    subprocess.run([*compiler(), str(PROGRAMS / "small_sends.c"), "-o", str(program)], check=True)
    record(RecordRequest((MPIEXEC, "-n", "2", str(program)), tmp_path / "run", recorder=library))
    table = read_trace(tmp_path / "run")
    assert not any("waited for by no recorded call" in note for note in table.notes)
    sends, waits = table.of_kind(Kind.ISEND), table.of_kind(Kind.WAIT)
    for rank in range(2):
        own = sends.corr[sends.rank == rank]
        assert len(set(own.tolist())) == len(own) == 8
        assert set(own.tolist()) < set(waits.corr[waits.rank == rank].tolist())


def test_selected_passes_of_a_region_and_their_scale(recorded: Run) -> None:
    found, out = recorded(region="PRGN", iterations="1:3")
    table = read_recorded(out)
    messages = table.of_kind(Kind.ISEND)
    assert Counter(messages.tag.tolist()) == {11: 2 * N_RANKS, 12: 2 * N_RANKS, 13: 4 * N_RANKS}
    assert set(table.of_kind(Kind.REGION).step.tolist()) == {1, 2}
    assert not len(table.of_kind(Kind.COLL))
    assert (found.regions.set_index("region").loc["PRGN", ["passes", "recorded"]] == [N_TURNS, 2]).all()
    region = found.regions.set_index("region").loc["PRGN"]
    assert found.scale == pytest.approx(region["time_s"] / region["recorded_s"])
    assert any("2 of 5 passes of PRGN" in note for note in found.notes)


def test_paused_until_the_program_says_so(recorded: Run) -> None:
    _, out = recorded(paused=True)
    table = read_recorded(out)
    assert not len(rows_of(table, 11, Kind.ISEND))
    assert len(rows_of(table, 31, Kind.SEND)) == N_RANKS


def test_a_profile_finds_the_hot_region_and_records_one_pass(recorded: Run) -> None:
    found, out = recorded(profile=True)
    calls = found.calls.set_index(["region", "call", "site"])["n_calls"]
    assert calls["PRGN", "MPI_Isend", f"talk.c:{line_of('talk.c', 'next, 11')} requests"] == N_RANKS * N_TURNS
    assert calls["loop", "MPI_Barrier", f"talk.c:{line_of('talk.c', 'PRGN_BEGIN') - 1} main"] == N_RANKS * N_TURNS
    # On a busy machine ranks may wait longest outside all regions, for one that starts late: then everything is recorded.
    hot = found.calls.groupby("region")["time_s"].sum().idxmax()
    assert found.selected.split(",")[0] == (f"region {hot}" if hot else "")
    regions = read_recorded(out).of_kind(Kind.REGION)
    region, n_passes = (hot, 1) if hot else ("PRGN", N_TURNS)
    assert Counter(name for name in regions.text(regions.name) if name == region) == {region: N_RANKS * n_passes}


def test_a_crash_keeps_what_was_recorded(recorded: Run) -> None:
    found, out = recorded("crash")
    assert found.command_exit_code != 0
    table = read_recorded(out)
    mine = table.take(table.rank == 1)
    assert len(rows_of(mine, 11, Kind.ISEND)) == 3
    assert len(mine.of_kind(Kind.REGION)) == 6
    assert any("ended before MPI did" in note for note in table.notes)


def test_the_exit_code_is_the_programs(recorded: Run) -> None:
    assert recorded("seven")[0].command_exit_code == 7


def test_a_second_recording_needs_another_folder(recorded: Run) -> None:
    recorded()
    with pytest.raises(UsageError, match="holds a recording"):
        recorded()


def test_requests_that_cannot_be(tmp_path: Path, library: Path) -> None:
    for options, word in (({"command": ()}, "no command"), ({"command": ("no-such-program",)}, "no program")):
        with pytest.raises(UsageError, match=word):
            RecordRequest(out=tmp_path, **options)
    with pytest.raises(UsageError, match="a:b"):
        RecordRequest(("true",), tmp_path, iterations="two")
    with pytest.raises(UsageError, match="--profile with --proxy"):
        RecordRequest(("true",), tmp_path, profile=True, proxy=True)
    with pytest.raises(UsageError, match="no recorder"):
        library_of(tmp_path / "absent.so")
    assert library_of(library.parent) == library


def test_a_command_without_ranks_says_so(tmp_path: Path, library: Path) -> None:
    found = record(RecordRequest(("true",), tmp_path / "run", recorder=library))
    assert (found.command_exit_code, found.n_events) == (0, 0)
    assert any("No rank wrote" in note for note in found.notes)


PROGRAM = """
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
out, into = np.zeros(100), np.zeros(100 * size)
comm.Sendrecv(out, (rank + 1) % size, 5, into[:100], (rank - 1) % size, 5)
request = comm.Irecv(into[:100], (rank - 1) % size, 6)
comm.Send(out[:10], (rank + 1) % size, 6)
request.Wait()
comm.Allgather(out, into)
comm.Gatherv(out, (into, [100] * size) if rank == 0 else None, 0)
"""


def test_functions_of_large_counts_are_recorded_too(library: Path, tmp_path: Path) -> None:
    """mpi4py calls MPI_Send_c and its like where the library has them."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = (MPIEXEC, "-n", "3", sys.executable, str(tmp_path / "program.py"))
    record(RecordRequest(command, tmp_path / "run", recorder=library))
    table = read_trace(tmp_path / "run")
    exchanged, posted = rows_of(table, 5, Kind.SEND, Kind.RECV), rows_of(table, 6, Kind.SEND, Kind.IRECV)
    assert Counter(table.kind[exchanged].tolist()) == {Kind.SEND: 3, Kind.RECV: 3}
    assert (table.flags[exchanged] & Flag.PAIRED > 0).all()
    assert table.size_bytes[exchanged].tolist() == [800] * 6
    assert Counter(table.kind[posted].tolist()) == {Kind.SEND: 3, Kind.IRECV: 3}
    assert (table.match[posted] >= 0).all()
    collective = table.of_kind(Kind.COLL)
    assert Counter(collective.text(collective.name)) == {"MPI_Allgather": 3, "MPI_Gatherv": 3}
    assert collective.size_bytes.tolist() == [800] * 6
