"""Requests of wrapped communicators: waiting for them is recorded, and says what they received."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlperf.traces.events.kinds import Kind
from mlperf.traces.recording.proxy_recorder import ProxyRecorder


@dataclass(slots=True)
class Post:
    """What a request was posted for.

    Attributes
    ----------
    place : int
        Of the record, -1 where nothing was recorded.
    is_receive : bool
        Whether its answer says who sent how much.
    world : list of int
        Ranks of the world by rank of the communicator.
    flags : int
        Of the record without OPEN.
    """

    place: int
    is_receive: bool
    world: list[int]
    flags: int


class RecordedRequest:
    """A request that forwards everything to mpi4py's and records `Wait`, `Test`, `wait`, `test` and the calls for several.

    The calls for several requests are those of this class, ``comm.Request.Waitall(requests)``: mpi4py's own cannot be recorded.
    """

    def __init__(self, own: ProxyRecorder, request: Any, post: Post, kept: Any = None) -> None:
        self._own, self._request, self._post, self._kept = own, request, post, kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)

    def Wait(self, status: Any = None) -> bool:
        """As mpi4py's."""
        return bool(_completed("MPI_Wait", [self], lambda status: self._request.Wait(status), status)[0])

    def wait(self, status: Any = None) -> Any:
        """As mpi4py's; returns the object received."""
        return _completed("MPI_Wait", [self], lambda status: self._request.wait(status), status)[0]

    def Test(self, status: Any = None) -> bool:
        """As mpi4py's; one that finds nothing is no event."""
        return bool(_tested("MPI_Test", self, lambda status: self._request.Test(status), status))

    def test(self, status: Any = None) -> tuple[bool, Any]:
        """As mpi4py's; one that finds nothing is no event."""
        found: tuple[bool, Any] = _tested("MPI_Test", self, lambda status: self._request.test(status), status)
        return found

    @classmethod
    def Waitall(cls, requests: Sequence[Any], statuses: Any = None) -> bool:
        """As mpi4py's."""
        if not requests:
            return True
        return bool(_all_completed(requests, statuses, lambda mpi, plain, found: mpi.Request.Waitall(plain, found)))

    @classmethod
    def waitall(cls, requests: Sequence[Any], statuses: Any = None) -> list[Any]:
        """As mpi4py's; returns the objects received."""
        if not requests:
            return []
        found: list[Any] = _all_completed(requests, statuses, lambda mpi, plain, found: mpi.Request.waitall(plain, found))
        return found

    @classmethod
    def Waitany(cls, requests: Sequence[Any], status: Any = None) -> int:
        """As mpi4py's."""
        own = next(each._own for each in requests)
        status = status or own.mpi.Status()
        plain = [each._request for each in requests]
        start_ns = time.monotonic_ns()
        index: int = own.mpi.Request.Waitany(plain, status)
        if 0 <= index < len(requests):
            _record("MPI_Waitany", own, [(requests[index], status)], start_ns, time.monotonic_ns(), 3)
        return index


def _completed(name: str, requests: list[RecordedRequest], call: Callable[[Any], Any], status: Any) -> tuple[Any, Any]:
    """Run a call that completes one request."""
    own = requests[0]._own
    status = status or own.mpi.Status()
    start_ns = time.monotonic_ns()
    result = call(status)
    _record(name, own, [(requests[0], status)], start_ns, time.monotonic_ns(), 4)
    return result, status


def _tested(name: str, request: RecordedRequest, call: Callable[[Any], Any], status: Any) -> Any:
    """Run a call that may complete a request."""
    own = request._own
    status = status or own.mpi.Status()
    start_ns = time.monotonic_ns()
    result = call(status)
    if result[0] if isinstance(result, tuple) else result:
        _record(name, own, [(request, status)], start_ns, time.monotonic_ns(), 4)
    return result


def _all_completed(requests: Sequence[Any], statuses: Any, call: Callable[[Any, list[Any], list[Any]], Any]) -> Any:
    """Run a call that completes all of several requests."""
    own = requests[0]._own
    found = statuses if statuses is not None else []
    found += [own.mpi.Status() for _ in range(len(requests) - len(found))]
    start_ns = time.monotonic_ns()
    result = call(own.mpi, [each._request for each in requests], found)
    _record("MPI_Waitall", own, list(zip(requests, found, strict=True)), start_ns, time.monotonic_ns(), 4)
    return result


def _record(name: str, own: ProxyRecorder, done: list[tuple[RecordedRequest, Any]], start_ns: int, end_ns: int, depth: int) -> None:
    """The wait, and in the posts what their answers say."""
    number = own.number() if own.records else 0
    for request, status in done:
        _answer(own, request, status, number)
    if own.records:
        own.writer.event(Kind.WAIT, name, start_ns, end_ns, number=number, count=len(done), site=own.writer.site(depth - 1))
        own.writer.cost(end_ns)


def _answer(own: ProxyRecorder, request: RecordedRequest, status: Any, number: int) -> None:
    """Complete the record of a post, once."""
    post = request._post
    if post.place < 0:
        return
    own.writer.patch(post.place, id=number, flags=post.flags)
    if post.is_receive:
        source = status.Get_source()
        peer = post.world[source] if 0 <= source < len(post.world) else -1
        own.writer.patch(post.place, peer=peer, tag=status.Get_tag(), size=status.Get_count(own.mpi.BYTE))
    request._post = Post(-1, post.is_receive, post.world, post.flags)
