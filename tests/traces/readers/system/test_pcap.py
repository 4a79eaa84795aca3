"""A capture of tcpdump 4.99 on every interface (cooked v2, IPv4 and IPv6), and packets made byte by byte for the other layers."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.system.pcap import read_pcap

FIXTURE = Path(__file__).parent / "fixtures" / "cooked2.pcap"


def ip4(payload: bytes = b"\0P\x1f\x90" + bytes(16), protocol: int = 6, fragment: int = 0) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, fragment, 64, protocol, 0)
    return head + socket.inet_aton("10.0.0.1") + socket.inet_aton("10.0.0.2") + payload


def ip6(next_header: int, payload: bytes) -> bytes:
    one, other = (socket.inet_pton(socket.AF_INET6, text) for text in ("fe80::1", "2001:db8::2"))
    return struct.pack(">IHBB", 6 << 28, len(payload), next_header, 64) + one + other + payload


def capture(tmp_path: Path, link: int, *frames: bytes, order: str = "<", nano: bool = False, rest: bytes = b"") -> Path:
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    content = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for number, frame in enumerate(frames):
        content += struct.pack(f"{order}IIII", 100 + number, 5, len(frame), len(frame) + 1000) + frame
    path = tmp_path / "file.pcap"
    path.write_bytes(content + rest)
    return path


def test_a_real_capture() -> None:
    found = read_pcap(FIXTURE)
    assert found.kind.tolist() == [Kind.PACKET] * 12
    assert set(found.text(found.name)) == {"tcp"}
    # As tcpdump -r prints it: 1000 bytes of data from port 43478 to 60135, then the same over IPv6.
    senders, receivers = found.text(found.site), found.text(found.name2)
    assert (senders[3], receivers[3]) == ("127.0.0.1:43478", "127.0.0.1:60135")
    assert (senders[11], receivers[11]) == ("[::1]:60492", "[::1]:38833")
    assert found.start_ns[3] == 72_000
    assert found.size_bytes[3] == 20 + 20 + 32 + 1000
    assert found.notes == ()


@pytest.mark.parametrize(
    ("link", "head"),
    [
        (1, bytes(12) + b"\x08\x00"),
        (1, bytes(12) + b"\x81\x00\0\x05\x08\x00"),
        (101, b""),
        (0, b"\x02\0\0\0"),
        (113, bytes(14) + b"\x08\x00"),
        (276, b"\x08\x00" + bytes(18)),
        (1, bytes(12) + b"\x91\x00\0\x05\x81\x00\0\x06\x08\x00"),
        (113, bytes(14) + b"\x81\x00\0\x05\x08\x00"),
        (276, b"\x81\x00" + bytes(18) + b"\0\x05\x08\x00"),
    ],
)
def test_every_link_layer(tmp_path: Path, link: int, head: bytes) -> None:
    found = read_pcap(capture(tmp_path, link, head + ip4()))
    assert found.text(found.site) == ["10.0.0.1:80"]
    assert found.text(found.name2) == ["10.0.0.2:8080"]
    assert found.size_bytes[0] == len(head + ip4()) + 1000


@pytest.mark.parametrize(("order", "nano", "at"), [("<", False, 5_000), (">", False, 5_000), (">", True, 5), ("<", True, 5)])
def test_byte_orders_and_nanoseconds(tmp_path: Path, order: str, nano: bool, at: int) -> None:
    assert read_pcap(capture(tmp_path, 101, ip4(), order=order, nano=nano)).origin_ns == 100_000_000_000 + at


def test_extension_headers_of_version_6(tmp_path: Path) -> None:
    ports = b"\0\x35\x04\0" + bytes(4)
    options = bytes([17, 0]) + bytes(6)
    first, later = (bytes([17, 0]) + struct.pack(">HI", offset << 3 | 1, 7) for offset in (0, 9))
    found = read_pcap(
        capture(tmp_path, 101, ip6(0, options + ports), ip6(44, first + ports), ip6(44, later + ports), ip6(58, bytes(8)))
    )
    assert found.text(found.name) == ["udp", "udp", "udp", "icmp6"]
    assert found.text(found.site) == ["[fe80::1]:53", "[fe80::1]:53", "[fe80::1]", "[fe80::1]"]
    assert found.flags.tolist() == [0, 0, Flag.TRUNCATED, 0]


def test_pieces_others_and_what_is_cut_off(tmp_path: Path) -> None:
    frames = (ip4(fragment=5), b"\x08\x06junk", ip4(protocol=1))
    found = read_pcap(capture(tmp_path, 101, *frames, rest=struct.pack("<IIII", 1, 1, 500, 500) + b"few"))
    assert found.text(found.site) == ["10.0.0.1", "10.0.0.1"]
    assert found.text(found.name) == ["tcp", "icmp"]
    assert found.notes == ("1 packets: neither IPv4 nor IPv6, or too short", "1 packets: the last one is cut off and left out")


def test_pcapng_as_dpkt_writes_it(tmp_path: Path) -> None:
    dpkt = pytest.importorskip("dpkt")
    path = tmp_path / "file.pcapng"
    with path.open("wb") as file:
        dpkt.pcapng.Writer(file).writepkt(bytes(12) + b"\x08\x00" + ip4(), ts=12.5)
    found = read_pcap(path)
    assert found.text(found.name2) == ["10.0.0.2:8080"]
    assert found.size_bytes.tolist() == [14 + 40]
    assert found.origin_ns == 12_500_000_000


@pytest.mark.parametrize("content", [b"x", b"not a capture at all, that is for sure", b"\x0a\x0d\x0d\x0a" + bytes(30)])
def test_what_is_no_capture_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match="file: is no packet capture"):
        read_pcap(tmp_path / "file")
    with pytest.raises(DataError, match="link layer 147"):
        read_pcap(capture(tmp_path, 147, ip4()))
