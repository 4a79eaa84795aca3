"""Packet captures: classic pcap and pcapng, of several link layers, IPv4 and IPv6."""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.content import read_content
from mlperf.traces.readers.system.pcapng import CUT_OFF, NG, pcapng_packets

ETHERNET, RAW, NULL, LOOP, LINUX_COOKED, IPV4, IPV6, LINUX_COOKED_2 = 1, 101, 0, 108, 113, 228, 229, 276
RAW_LINKS = (RAW, 12, 14, IPV4, IPV6)
PROTOCOLS = {6: "tcp", 17: "udp", 1: "icmp", 58: "icmp6", 132: "sctp"}
EXTENSIONS = (0, 43, 44, 60)
TAGS = (0x8100, 0x88A8, 0x9100)
IP, IP6 = 0x0800, 0x86DD


@dataclass(slots=True)
class _Read:
    """Rows as they come, and what was left out by reason."""

    strings: Strings = field(default_factory=Strings)
    rows: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)


def read_pcap(path: Path) -> EventTable:
    """Read a capture.

    Returns
    -------
    EventTable
        PACKET rows: ``name`` the protocol, ``site`` sender and ``name2`` receiver as ``"address:port"``, ``size_bytes`` the length
        on the wire; times since the first packet, `origin_ns` since 1970. A packet has no duration: a capture tells none. What is
        neither IPv4 nor IPv6 is counted in a note; a last packet that is cut off is left out.

    Raises
    ------
    DataError
        It is no capture, or of a link layer that is not known.
    """
    found = _Read()
    content = read_content(path)
    for time_ns, link, frame, size in _packets(path, content, found):
        _packet(found, time_ns, _network(link, frame, path), size)
    rows = np.array(found.rows, dtype=np.int64).reshape(-1, 6)
    origin = int(rows[:, 0].min()) if len(rows) else 0
    notes = [f"{count} packets: {why}" for why, count in sorted(found.others.items())]
    return event_table(
        len(rows),
        start_ns=rows[:, 0] - origin,
        kind=int(Kind.PACKET),
        name=rows[:, 1],
        site=rows[:, 2],
        name2=rows[:, 3],
        size_bytes=rows[:, 4],
        flags=rows[:, 5],
        strings=found.strings.all(),
        sources=(f"packets: {path.name}",),
        origin_ns=origin,
        notes=notes,
    ).by_time()


def _packets(path: Path, content: bytes, found: _Read) -> Iterator[tuple[int, int, bytes, int]]:
    """Time in nanoseconds, link layer, bytes captured, length on the wire."""
    if content[:4] != NG:
        yield from _classic(path, content, found)
        return
    try:
        yield from pcapng_packets(content, found.others)
    except (ValueError, struct.error) as error:
        raise DataError(f"is no packet capture, or a broken one ({error})", place=str(path), hint="tcpdump -w FILE") from None


def _classic(path: Path, content: bytes, found: _Read) -> Iterator[tuple[int, int, bytes, int]]:
    """The classic format, either byte order, microseconds or nanoseconds."""
    magics = {
        b"\xd4\xc3\xb2\xa1": ("<", 1000),
        b"\xa1\xb2\xc3\xd4": (">", 1000),
        b"\x4d\x3c\xb2\xa1": ("<", 1),
        b"\xa1\xb2\x3c\x4d": (">", 1),
    }
    if content[:4] not in magics or len(content) < 24:
        raise DataError("is no packet capture", place=str(path), hint="tcpdump -w FILE")
    order, unit = magics[content[:4]]
    link = struct.unpack(f"{order}I", content[20:24])[0] & 0x0FFFFFFF
    at = 24
    while at + 16 <= len(content):
        seconds, fraction, captured, size = struct.unpack(f"{order}IIII", content[at : at + 16])
        if at + 16 + captured > len(content):
            break
        yield seconds * 1_000_000_000 + fraction * unit, link, content[at + 16 : at + 16 + captured], size
        at += 16 + captured
    if at < len(content):
        found.others[CUT_OFF] += 1


def _network(link: int, frame: bytes, path: Path) -> bytes:
    """What follows the link layer; nothing where that is neither IPv4 nor IPv6."""
    if link == ETHERNET:
        kind, at = _word(frame, 12), 14
    elif link == LINUX_COOKED:
        kind, at = _word(frame, 14), 16
    elif link == LINUX_COOKED_2:
        kind, at = _word(frame, 0), 20
    elif link in (NULL, LOOP):
        return frame[4:]
    elif link in RAW_LINKS:
        return frame
    else:
        raise DataError(
            f"got link layer {link}, which is not known", place=str(path), hint="tcpdump -i any, or on an Ethernet interface"
        )
    while kind in TAGS:
        kind, at = _word(frame, at + 2), at + 4
    return frame[at:] if kind in (IP, IP6) else b""


def _word(frame: bytes, at: int) -> int:
    """Two bytes as a number; -1 behind the end."""
    return int.from_bytes(frame[at : at + 2], "big") if len(frame) >= at + 2 else -1


def _packet(found: _Read, time_ns: int, packet: bytes, size: int) -> None:
    """Add a row."""
    parsed = (
        _version_4(packet)
        if packet[:1] and packet[0] >> 4 == 4
        else _version_6(packet)
        if packet[:1] and packet[0] >> 4 == 6
        else None
    )
    if parsed is None:
        found.others["neither IPv4 nor IPv6, or too short"] += 1
        return
    protocol, sender, receiver, rest = parsed
    ports = struct.unpack(">HH", rest[:4]) if protocol in (6, 17, 132) and len(rest) >= 4 else None
    ends = [f"{address}:{port}" for address, port in zip((sender, receiver), ports, strict=True)] if ports else [sender, receiver]
    numbers = (found.strings.number(text) for text in (PROTOCOLS.get(protocol, f"ip {protocol}"), *ends))
    name, one, other = numbers
    # A later piece of a datagram names no ports.
    flags = 0 if ports or protocol not in (6, 17) else int(Flag.TRUNCATED)
    found.rows.append((time_ns, name, one, other, size, flags))


def _version_4(packet: bytes) -> tuple[int, str, str, bytes] | None:
    """Protocol, addresses and payload."""
    if len(packet) < 20:
        return None
    head = (packet[0] & 15) * 4
    first = (_word(packet, 6) & 0x1FFF) == 0
    payload = packet[head:] if first else b""
    return packet[9], socket.inet_ntop(socket.AF_INET, packet[12:16]), socket.inet_ntop(socket.AF_INET, packet[16:20]), payload


def _version_6(packet: bytes) -> tuple[int, str, str, bytes] | None:
    """The same behind extension headers; addresses in brackets, so that a port can follow."""
    if len(packet) < 40:
        return None
    protocol, at = packet[6], 40
    while protocol in EXTENSIONS and len(packet) >= at + 8:
        later = protocol == 44 and _word(packet, at + 2) >> 3
        length = 8 if protocol == 44 else (packet[at + 1] + 1) * 8
        protocol, at = packet[at], at + length
        if later:
            at = len(packet)
    sender, receiver = (f"[{socket.inet_ntop(socket.AF_INET6, packet[start : start + 16])}]" for start in (8, 24))
    return protocol, sender, receiver, packet[at:]
