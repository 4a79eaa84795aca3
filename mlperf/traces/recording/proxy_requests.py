"""Requests of wrapped communicators: waiting for them is recorded, and says what they received."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlperf.core.extras import require
from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import CANCELLED
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
    Among the requests may be some of mpi4py's, such as ``MPI.REQUEST_NULL`` and those of plain communicators.
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
        return bool(_several("Waitall", requests, statuses, every))

    @classmethod
    def waitall(cls, requests: Sequence[Any], statuses: Any = None) -> list[Any]:
        """As mpi4py's; returns the objects received."""
        found: list[Any] = _several("waitall", requests, statuses, every)
        return found

    @classmethod
    def Testall(cls, requests: Sequence[Any], statuses: Any = None) -> bool:
        """As mpi4py's; one that finds nothing is no event."""
        return bool(_several("Testall", requests, statuses, every))

    @classmethod
    def Waitany(cls, requests: Sequence[Any], status: Any = None) -> int:
        """As mpi4py's."""
        index: int = _one_of("Waitany", requests, status, lambda found: found)
        return index

    @classmethod
    def Testany(cls, requests: Sequence[Any], status: Any = None) -> tuple[int, bool]:
        """As mpi4py's; one that finds nothing is no event."""
        found: tuple[int, bool] = _one_of("Testany", requests, status, lambda pair: pair[0] if pair[1] else -1)
        return found

    @classmethod
    def Waitsome(cls, requests: Sequence[Any], statuses: Any = None) -> list[int] | None:
        """As mpi4py's."""
        found: list[int] | None = _several("Waitsome", requests, statuses, some)
        return found

    @classmethod
    def Testsome(cls, requests: Sequence[Any], statuses: Any = None) -> list[int] | None:
        """As mpi4py's; one that finds nothing is no event."""
        found: list[int] | None = _several("Testsome", requests, statuses, some)
        return found


def posted(own: ProxyRecorder, request: Any) -> RecordedRequest:
    """A request of an operation that is no message: its wait is recorded, and completes no record."""
    return RecordedRequest(own, request, Post(-1, False, [], 0))


def every(result: Any, n: int) -> Sequence[int]:
    """Which of n requests a call has completed that completes all or, where it says no, none."""
    return range(n) if result is not False else ()


def some(result: Any, n: int) -> Sequence[int]:  # noqa: ARG001 - as `every`
    """Those that a call names."""
    return result or ()


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


def plain_requests(requests: Sequence[Any]) -> list[Any]:
    """Requests as mpi4py knows them."""
    return [each._request if isinstance(each, RecordedRequest) else each for each in requests]


def recorder_of(requests: Sequence[Any]) -> ProxyRecorder | None:
    """The recorder of some requests; None where none is recorded."""
    return next((each._own for each in requests if isinstance(each, RecordedRequest)), None)


def _several(name: str, requests: Sequence[Any], statuses: Any, completed: Callable[[Any, int], Sequence[int]]) -> Any:
    """Run a call of mpi4py's that completes some of several requests; their statuses stand in their order."""
    own = recorder_of(requests)
    if own is None:
        return getattr(require("mpi4py.MPI", "mpi").Request, name)(list(requests), statuses)
    found = statuses if statuses is not None else []
    found += [own.mpi.Status() for _ in range(len(requests) - len(found))]
    start_ns = time.monotonic_ns()
    result = getattr(own.mpi.Request, name)(plain_requests(requests), found)
    end_ns = time.monotonic_ns()
    done = completed(result, len(requests))
    if done:
        _record(
            f"MPI_{name.capitalize()}", own, [(requests[at], found[place]) for place, at in enumerate(done)], start_ns, end_ns, 4
        )
    return result


def _one_of(name: str, requests: Sequence[Any], status: Any, index: Callable[[Any], int]) -> Any:
    """Run a call of mpi4py's that completes one of several requests."""
    own = recorder_of(requests)
    if own is None:
        return getattr(require("mpi4py.MPI", "mpi").Request, name)(list(requests), status)
    status = status or own.mpi.Status()
    start_ns = time.monotonic_ns()
    result = getattr(own.mpi.Request, name)(plain_requests(requests), status)
    end_ns = time.monotonic_ns()
    if 0 <= index(result) < len(requests):
        _record(f"MPI_{name}", own, [(requests[index(result)], status)], start_ns, end_ns, 4)
    return result


def _record(name: str, own: ProxyRecorder, done: list[tuple[Any, Any]], start_ns: int, end_ns: int, depth: int) -> None:
    """The wait, and in the posts what their answers say."""
    number = own.number() if own.records else 0
    for request, status in done:
        if isinstance(request, RecordedRequest):
            _answer(own, request, status, number)
    if own.records:
        own.writer.event(Kind.WAIT, name, start_ns, end_ns, number=number, count=len(done), site=own.writer.site(depth - 1))
        own.writer.cost(end_ns)


def _answer(own: ProxyRecorder, request: RecordedRequest, status: Any, number: int) -> None:
    """Complete the record of a post, once."""
    post = request._post
    if post.place < 0:
        return
    is_cancelled = bool(status.Is_cancelled())
    own.writer.patch(post.place, id=number, flags=post.flags | (CANCELLED if is_cancelled else 0))
    if post.is_receive and not is_cancelled:
        source = status.Get_source()
        peer = post.world[source] if 0 <= source < len(post.world) else -1
        own.writer.patch(post.place, peer=peer, tag=status.Get_tag(), size=status.Get_count(own.mpi.BYTE))
    request._post = Post(-1, post.is_receive, post.world, post.flags)
