"""What an event can be, and what is to be known about how it was read."""

from __future__ import annotations

from enum import IntEnum, IntFlag

HOST = -2
"""The device number of the host's own memory; -1 is unset, 0 and more are accelerators."""

UNSET = -1
"""Rank, peer, tag, step and every other number that an event does not have."""


class Kind(IntEnum):
    """One number a kind of event, kept in one byte.

    Notes
    -----
    A call that sends and receives at once is two rows, SEND and RECV, of the same start and duration, with the flag PAIRED and one
    ``corr``. ISEND and IRECV end when the call returns; their ``corr`` is that of the WAIT row which completes them (unset: nothing
    waits for them). Members of a collective operation share ``corr``; ``peer`` is their root. A REGION is one pass through a
    parallel region, or a call of a named function that contains others; ``step`` counts the passes on its rank from 0.

    A SAMPLE says where a thread ran on a processor: ``weight_ns`` is the CPU time that it stands for, ``name`` the function,
    ``name2`` its object file, ``site`` the stack from the root, joined by ``;``, ``tag`` the offset in the function. A STACK says
    where a thread stood, whether it ran or waited: ``weight_ns`` is elapsed time. Of a PACKET, ``site`` is the sender and ``name2``
    the receiver.
    """

    SEND = 1
    RECV = 2
    ISEND = 3
    IRECV = 4
    WAIT = 5
    COLL = 6
    COMPUTE = 7
    REGION = 8
    KERNEL = 9
    MEMCPY = 10
    MEMSET = 11
    API = 12
    SAMPLE = 13
    SYSCALL = 14
    PACKET = 15
    IO = 16
    MARK = 17
    STACK = 18


class Flag(IntFlag):
    """What is to be known about one event; several may hold."""

    WILDCARD = 1
    """The receive named no source or no tag; the trace holds those that came."""
    UNMATCHED = 2
    """The other end of the message is not in the trace."""
    NEGATIVE_SPLIT = 4
    """The event is shorter than the wait that its clock readings give."""
    CLOCK_UNSURE = 8
    """The wait is shorter than what is known of the two clocks."""
    TRUNCATED = 16
    """The file ends inside this event, or before what completes it."""
    ASSUMED_TIME = 32
    """The format gives no duration, or not this event's own."""
    PAIRED = 64
    """One half of a call that sends and receives."""
    REPAIRED = 128
    """A reader put right what the file has wrong; what, is in the notes of the table."""
    WAITING = 256
    """Of a STACK: the thread hardly ran since its stack before."""


COMMUNICATION = (Kind.SEND, Kind.RECV, Kind.ISEND, Kind.IRECV, Kind.WAIT, Kind.COLL)
"""Events that message passing consists of."""
