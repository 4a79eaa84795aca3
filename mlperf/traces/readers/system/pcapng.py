"""Blocks of pcapng: packets of several interfaces, each with its own link layer and unit of time."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

SECTION, INTERFACE, OLD_PACKET, SIMPLE, PACKET = 0x0A0D0D0A, 1, 2, 3, 6
NG = SECTION.to_bytes(4, "big")
RESOLUTION, OFFSET = 9, 14
"""Options of an interface: unit of its times, and seconds to be added to them."""
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
SECOND = 1_000_000_000
LATEST_NS = 2**62
CUT_OFF = "the last one is cut off and left out"


@dataclass(frozen=True, slots=True)
class _Interface:
    """Link layer, ticks a second, and seconds to be added."""

    link: int
    ticks: int = 1_000_000
    offset_s: int = 0

    def time_ns(self, high: int, low: int) -> int:
        """Nanoseconds since 1970 of a packet's two words."""
        found = (high << 32 | low) * SECOND // self.ticks + self.offset_s * SECOND
        if not 0 <= found < LATEST_NS:
            raise ValueError(f"a packet of {found / SECOND:.6g} s since 1970")
        return found


def pcapng_packets(content: bytes, others: Counter[str]) -> Iterator[tuple[int, int, bytes, int]]:
    """Time in nanoseconds since 1970, link layer, bytes captured and length on the wire of every packet.

    Parameters
    ----------
    content : bytes
        A whole file.
    others : Counter
        What is left out, by reason; a last block that is cut off is.

    Raises
    ------
    ValueError
        A block is not as the format says.
    """
    order, at = "<", 0
    interfaces: list[_Interface] = []
    while at + 12 <= len(content):
        if content[at : at + 4] == NG:
            order, interfaces = _order(content[at + 8 : at + 12]), []
        kind, length = struct.unpack(f"{order}II", content[at : at + 8])
        if length < 12 or length % 4:
            raise ValueError(f"a block of {length} bytes at byte {at}")
        if at + length > len(content):
            break
        body = content[at + 8 : at + length - 4]
        if kind == INTERFACE:
            interfaces.append(_interface(order, body))
        elif kind in (PACKET, OLD_PACKET):
            yield _packet(order, kind, body, interfaces)
        elif kind == SIMPLE:
            others["without a time (simple packet blocks), left out"] += 1
        at += length
    if at == 0:
        raise ValueError("its first block is cut off")
    if at < len(content):
        others[CUT_OFF] += 1


def _order(word: bytes) -> str:
    """Byte order of a section."""
    if word not in ORDERS:
        raise ValueError(f"byte order {word.hex()}")
    return ORDERS[word]


def _interface(order: str, body: bytes) -> _Interface:
    """An interface and those of its options that times need."""
    (link,) = struct.unpack(f"{order}H", body[:2])
    ticks, offset_s, at = 1_000_000, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack(f"{order}HH", body[at : at + 4])
        value = body[at + 4 : at + 4 + length]
        if code == RESOLUTION and length == 1:
            ticks = 2 ** (value[0] & 127) if value[0] & 128 else 10 ** value[0]
        elif code == OFFSET and length == 8:
            (offset_s,) = struct.unpack(f"{order}q", value)
        elif code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return _Interface(link, ticks, offset_s)


def _packet(order: str, kind: int, body: bytes, interfaces: list[_Interface]) -> tuple[int, int, bytes, int]:
    """One packet, of the block of today or of the one before it."""
    number, high, low, captured, size = struct.unpack(f"{order}{'I' if kind == PACKET else 'H2x'}IIII", body[:20])
    if number >= len(interfaces):
        raise ValueError(f"a packet of interface {number}, of {len(interfaces)}")
    if captured > len(body) - 20:
        raise ValueError(f"a packet of {captured} bytes in a block of {len(body)}")
    found = interfaces[number]
    return found.time_ns(high, low), found.link, body[20 : 20 + captured], size
