"""Numbers that are stored in files do not change."""

from __future__ import annotations

from mlperf.traces.events.kinds import Flag, Kind


def test_stored_numbers_stay() -> None:
    """Stored traces hold them: a new kind or flag is added behind, none is moved."""
    assert {kind.name: int(kind) for kind in Kind}.items() >= {
        "SEND": 1, "RECV": 2, "ISEND": 3, "IRECV": 4, "WAIT": 5, "COLL": 6, "COMPUTE": 7, "REGION": 8, "KERNEL": 9, "MEMCPY": 10,
        "MEMSET": 11, "API": 12, "SAMPLE": 13, "SYSCALL": 14, "PACKET": 15, "IO": 16, "MARK": 17,
    }.items()  # fmt: skip
    assert {flag.name: int(flag) for flag in Flag}.items() >= {"WILDCARD": 1, "UNMATCHED": 2, "PAIRED": 64, "REPAIRED": 128}.items()


def test_kinds_fit_a_byte_and_flags_two() -> None:
    assert max(Kind) < 2**8
    assert max(Flag) < 2**16
