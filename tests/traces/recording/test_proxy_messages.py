"""Probes under the proxy: a receive of what was probed has waited since then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import OPEN, WILDCARD
from mlperf.traces.recording.mpi_proxy import RecordedComm

from .conftest import Own, Plain, events_in


class Message:
    """Taken by a probe."""

    Recv = recv = staticmethod(lambda *_: "said")
    Irecv = staticmethod(lambda _buf: "request")


def probing(folder: Path) -> tuple[Own, RecordedComm]:
    own = Own(folder)
    message = Message()
    return own, RecordedComm(own, Plain(Mprobe=message, mprobe=message, improbe=message))  # type: ignore[arg-type]


def test_a_receive_of_what_was_probed_begins_with_the_probe(tmp_path: Path) -> None:
    own, comm = probing(tmp_path)
    comm.Probe()
    held = own.probe.start_ns  # type: ignore[attr-defined]
    comm.Recv(np.zeros(24, dtype="u1"), 1, 3)
    (event,) = events_in(own, tmp_path)
    assert (event["kind"], event["start_ns"], event["peer"], event["tag"], event["size"]) == (Kind.RECV, held, 1, 3, 24)
    assert event["flags"] == WILDCARD


def test_a_probe_without_its_receive_is_a_wait_for_no_request(tmp_path: Path) -> None:
    own, comm = probing(tmp_path)
    comm.probe(1, 3)
    comm.Barrier()
    comm.probe(1, 3)
    assert events_in(own, tmp_path)["kind"].tolist() == [Kind.WAIT, Kind.COLL, Kind.WAIT]


@pytest.mark.parametrize("probe", ["Mprobe", "mprobe", "improbe"])
def test_a_message_that_a_probe_has_taken_is_received(probe: str, tmp_path: Path) -> None:
    own, comm = probing(tmp_path)
    message = getattr(comm, probe)(1)
    assert message.recv() == "said"
    getattr(comm, probe)(1).Irecv(np.zeros(30, dtype="u1"))
    events = events_in(own, tmp_path)
    assert [kind for kind in events["kind"].tolist() if kind != Kind.WAIT] == [Kind.RECV, Kind.IRECV]
    received, posted = events[events["kind"] == Kind.RECV][0], events[events["kind"] == Kind.IRECV][0]
    assert (received["peer"], received["tag"], received["size"], received["flags"]) == (1, 3, 24, WILDCARD)
    assert (posted["peer"], posted["tag"], posted["size"], posted["flags"]) == (1, 3, 30, OPEN)


def test_without_a_message_there_is_nothing_to_receive(tmp_path: Path) -> None:
    own = Own(tmp_path)
    assert RecordedComm(own, Plain()).improbe(1) is None  # type: ignore[arg-type]
    assert len(events_in(own, tmp_path)) == 0
