"""Requests under the proxy: what completes them is recorded once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import CANCELLED, OPEN, WILDCARD, read_rank_file
from mlperf.traces.recording.proxy_requests import Post, RecordedRequest

from .conftest import Own, Status


class Request:
    """Done at the second test."""

    def __init__(self) -> None:
        self.tests = 0

    def Test(self, _status: Any) -> bool:
        self.tests += 1
        return self.tests > 1

    def Wait(self, _status: Any) -> bool:
        return True


@pytest.mark.parametrize("call", ["Wait", "Test"])
def test_the_answer_completes_the_post(call: str, tmp_path: Path) -> None:
    own = Own(tmp_path)
    own.writer.members(0, (4, 6))
    place = own.writer.event(Kind.IRECV, "MPI_Irecv", 1, 2, tag=-1, comm=0, size=100, flags=OPEN | WILDCARD)
    request = RecordedRequest(own, Request(), Post(place, True, [4, 6], WILDCARD))  # type: ignore[arg-type]
    while not getattr(request, call)():
        pass
    request.Wait()
    own.writer.close(0)
    events = read_rank_file(tmp_path / "rank-00000.mlr").events
    post = events[0]
    assert [int(post[name]) for name in ("peer", "tag", "size", "flags", "id")] == [6, 3, 24, WILDCARD, 1]
    # The second wait finds nothing to complete, and is an event of its own.
    assert events["kind"].tolist() == [Kind.IRECV, Kind.WAIT, Kind.WAIT]
    assert events["id"].tolist() == [1, 1, 2]


def test_other_attributes_are_the_requests(tmp_path: Path) -> None:
    request = RecordedRequest(Own(tmp_path), Request(), Post(-1, False, [], 0))  # type: ignore[arg-type]
    assert request.tests == 0


def test_a_cancelled_receive_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Status, "Is_cancelled", staticmethod(lambda: True))
    own = Own(tmp_path)
    own.writer.members(0, (4, 6))
    place = own.writer.event(Kind.IRECV, "MPI_Irecv", 1, 2, tag=-1, comm=0, size=100, flags=OPEN | WILDCARD)
    RecordedRequest(own, Request(), Post(place, True, [4, 6], WILDCARD)).Wait()  # type: ignore[arg-type]
    own.writer.close(0)
    post = read_rank_file(tmp_path / "rank-00000.mlr").events[0]
    assert [int(post[name]) for name in ("peer", "tag", "size", "flags", "id")] == [-1, -1, 100, WILDCARD | CANCELLED, 1]
