"""One rank's file: what is whole is read, what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import RECORD, read_rank_file
from mlperf.traces.recording.rank_writer import RankWriter

SIZE = RECORD.itemsize


def written(folder: Path, rank: int = 0, n_ranks: int = 2) -> Path:
    """A file of ten sends on a communicator of all ranks."""
    writer = RankWriter(folder, rank, n_ranks)
    writer.members(0, tuple(range(n_ranks)))
    for number in range(10):
        writer.event(Kind.SEND, "MPI_Send", 10 * number, 10 * number + 5, peer=1 - rank, tag=number, comm=0, size=8)
    writer.close(0)
    return folder / f"rank-{rank:05d}.mlr"


def changed(path: Path, record: int, **fields: int) -> Path:
    """The file with some fields of a record changed."""
    content = bytearray(path.read_bytes())
    rows = __import__("numpy").frombuffer(content, RECORD)
    for name, value in fields.items():
        rows[record][name] = value
    path.write_bytes(content)
    return path


def first_event(path: Path) -> int:
    """Number of the record of the first event."""
    content = path.read_bytes()
    return next(at for at in range(len(content) // SIZE) if content[at * SIZE + 16] == Kind.SEND and content[at * SIZE + 36] == 0)


def test_a_whole_file(tmp_path: Path) -> None:
    found = read_rank_file(written(tmp_path))
    assert found.events["tag"].tolist() == list(range(10))
    assert found.events["start_ns"].tolist() == list(range(0, 100, 10))
    assert found.comms == {0: (0, 1)}
    assert found.is_whole


@pytest.mark.parametrize("n_bytes", range(1, 2000, 37))
def test_a_file_that_is_cut_keeps_its_beginning(n_bytes: int, tmp_path: Path) -> None:
    path = written(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:n_bytes])
    if n_bytes < SIZE:
        with pytest.raises(DataError, match="begins with"):
            read_rank_file(path)
        return
    events = read_rank_file(path).events
    assert events["tag"].tolist() == list(range(len(events)))


def test_zeros_at_the_end_are_no_events(tmp_path: Path) -> None:
    path = written(tmp_path)
    kept = path.read_bytes()[: -3 * SIZE]
    path.write_bytes(kept + bytes(20 * SIZE))
    found = read_rank_file(path)
    assert not found.is_whole
    assert len(found.events) in (9, 10)
    assert found.n_bytes == len(kept)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": 77}, "no known kind"),
        ({"end_ns": -1}, "ends before it starts"),
        ({"size": -4}, "negative size"),
        ({"name": 9}, "no text for name 9"),
        ({"comm": 5}, "no members of communicator 5"),
        ({"peer": 2}, "got peers 1 to 2 among 2 ranks"),
    ],
)
def test_records_that_cannot_be(fields: dict[str, int], words: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(DataError, match=words):
        read_rank_file(changed(path, first_event(path), **fields))


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"id": 2}, "version 2"), ({"comm": 48}, "48 bytes"), ({"peer": 2}, "rank 2 of 2"), ({"tag": 0}, "rank 0 of 0")],
)
def test_headers_that_cannot_be(fields: dict[str, int], words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words):
        read_rank_file(changed(written(tmp_path), 0, **fields))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_rank_file(tmp_path / "absent.mlr")
