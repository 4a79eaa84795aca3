"""Blocks made byte by byte as the format's specification lays them out (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

import struct
from collections import Counter

import pytest

from mlperf.traces.readers.system.pcapng import pcapng_packets

ETHERNET, RAW = 1, 101


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(f"{order}II", kind, len(body) + 12) + body + struct.pack(f"{order}I", len(body) + 12)


def section(order: str = "<") -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(link: int, order: str = "<", options: bytes = b"") -> bytes:
    return block(order, 1, struct.pack(f"{order}HHI", link, 0, 96) + options)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


def packet(number: int, ticks: int, frame: bytes, size: int, order: str = "<") -> bytes:
    return block(order, 6, struct.pack(f"{order}5I", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), size) + frame)


def test_nanoseconds_are_kept_and_a_packet_is_as_long_as_on_the_wire() -> None:
    at = 1_764_259_200_123_456_789
    options = option(2, b"eth0") + option(9, b"\x09") + option(0, b"")
    content = section() + interface(ETHERNET, options=options) + packet(0, at, b"captured", 1514)
    assert list(pcapng_packets(content, Counter())) == [(at, ETHERNET, b"captured", 1514)]


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_interface_has_its_own_link_and_clock(order: str) -> None:
    content = (
        section(order)
        + interface(ETHERNET, order)
        + interface(RAW, order, option(9, b"\x8a", order) + option(14, struct.pack(f"{order}q", 100), order))
        + packet(0, 2_000_001, b"one", 3, order)
        + block(order, 5, bytes(12))
        + packet(1, 1024 + 512, b"other", 5, order)
    )
    # 1/1024 s, and 100 s to be added.
    assert list(pcapng_packets(content, Counter())) == [
        (2_000_001_000, ETHERNET, b"one", 3),
        (101_500_000_000, RAW, b"other", 5),
    ]


def test_a_second_section_counts_its_interfaces_anew_and_old_blocks_are_read() -> None:
    old = block(">", 2, struct.pack(">HHIIII", 0, 7, 0, 9, 2, 60) + b"ab")
    content = section() + interface(ETHERNET) + section(">") + interface(RAW, ">") + old
    assert list(pcapng_packets(content, Counter())) == [(9_000, RAW, b"ab", 60)]


def test_what_has_no_time_and_what_is_cut_off_is_counted() -> None:
    others: Counter[str] = Counter()
    whole = section() + interface(RAW) + packet(0, 5, b"abcd", 4)
    content = whole + block("<", 3, struct.pack("<I", 4) + b"abcd") + packet(0, 6, b"abcd", 4)[:-9]
    assert [time for time, *_ in pcapng_packets(content, others)] == [5_000]
    assert others == {"without a time (simple packet blocks), left out": 1, "the last one is cut off and left out": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (section()[:20], "first block is cut off"),
        (section() + packet(0, 5, b"", 0), "interface 0, of 0"),
        (section() + struct.pack("<III", 1, 5, 0), "a block of 5 bytes at byte 28"),
        (section().replace(b"\x4d\x3c", b"\0\0"), "byte order"),
        (section() + interface(RAW) + packet(0, 2**63, b"", 0), "since 1970"),
        (section() + interface(RAW) + block("<", 6, struct.pack("<5I", 0, 0, 5, 99, 99)), "99 bytes in a block of 20"),
    ],
)
def test_broken_blocks_are_told(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(pcapng_packets(content, Counter()))
