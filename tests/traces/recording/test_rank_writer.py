"""Files written from Python, read again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import RECORD, read_rank_file
from mlperf.traces.recording.rank_writer import LAYOUT, PIECE_RECORDS, RankWriter


def test_both_descriptions_of_a_record_agree() -> None:
    assert LAYOUT.size == RECORD.itemsize == 64
    values = tuple(range(1, 14))
    row = __import__("numpy").frombuffer(LAYOUT.pack(*values), RECORD)[0]
    assert tuple(int(value) for value in row) == values


def test_the_c_structure_is_the_same() -> None:
    header = (Path(sys.modules[RankWriter.__module__].__file__ or "").with_name("data") / "record.h").read_text(encoding="utf-8")
    body = header.split("typedef struct {")[1].split("} mr_record;")[0]
    names = [
        word.strip() for line in body.splitlines() for word in line.split("/*")[0].replace(";", ",").split(",") if word.strip()
    ]
    assert [name.split()[-1] for name in names] == [{"start_ns": "start_ns"}.get(name, name) for name in RECORD.names or ()]


def test_more_events_than_a_piece_holds(tmp_path: Path) -> None:
    writer = RankWriter(tmp_path, 2, 3)
    writer.members(0, (0, 1, 2))
    n_events = PIECE_RECORDS + 10
    for number in range(n_events):
        writer.event(Kind.SEND, "MPI_Send", number, number + 1, peer=1, tag=number, comm=0, size=8, site=writer.site(0))
    first = writer.event(Kind.RECV, "receives", 5, 6, peer=-1, comm=0)
    writer.patch(first, peer=0, size=77)
    writer.close(4)
    found = read_rank_file(tmp_path / "rank-00002.mlr")
    assert (found.rank, found.n_ranks, found.is_whole, found.n_wrong_ends) == (2, 3, True, 4)
    assert found.events["tag"][:-1].tolist() == list(range(n_events))
    assert (int(found.events["peer"][-1]), int(found.events["size"][-1])) == (0, 77)
    assert list(found.sites.values()) == [
        (True, f"{Path(__file__).name}:{found.sites[1][1].split(':')[1].split()[0]} test_more_events_than_a_piece_holds")
    ]
    assert found.n_bytes == (tmp_path / "rank-00002.mlr").stat().st_size


def test_a_killed_process_leaves_what_it_wrote(tmp_path: Path) -> None:
    text = (
        "import os, signal, pathlib\n"
        "from mlperf.traces.recording.rank_writer import RankWriter\n"
        f"writer = RankWriter(pathlib.Path({str(tmp_path)!r}), 0, 1)\n"
        "writer.members(0, (0,))\n"
        "for number in range(1000): writer.event(6, 'MPI_Barrier', number, number, comm=0, number=number)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == -9
    found = read_rank_file(tmp_path / "rank-00000.mlr")
    assert not found.is_whole
    assert len(found.events) == 1000


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="absent"):
        RankWriter(tmp_path / "absent", 0, 1)
