"""One rank's file written from Python: the same records as the library's, mapped into memory so that a crash keeps them."""

from __future__ import annotations

import mmap
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType

from mlperf.core.files import replacing
from mlperf.traces.readers.rank_file import BOOT, COMM, COUNT, END, HOST, MAGIC, READY_TEXT, RECORD, RECORDER, SITE, STRING, VERSION

LAYOUT = struct.Struct("<qqBBHiiiqqQii")
KIND = struct.Struct("<B")
PIECE_RECORDS = 16384
PIECE_BYTES = PIECE_RECORDS * LAYOUT.size
BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
SAMPLED = 16


class RankWriter:
    """Appends records to a rank's file.

    Parameters
    ----------
    folder : Path
        Of the recording.
    rank, n_ranks : int
        Of the world.

    Attributes
    ----------
    held : callable or None
        Writes an event that the next one may make needless.
    """

    def __init__(self, folder: Path, rank: int, n_ranks: int) -> None:
        path = folder / f"rank-{rank:05d}.mlr"
        with replacing(path) as empty:
            empty.write(b"")
        self._file = os.open(path, os.O_RDWR)
        self._pieces: list[mmap.mmap] = []
        self._n_records = 0
        self._strings: dict[str, int] = {}
        self._sites: dict[tuple[CodeType, int], int] = {}
        self._n_events = 0
        self._own_ns = 0
        self.held: Callable[[], object] | None = None
        header = (
            int.from_bytes(MAGIC, "little"),
            time.monotonic_ns(),
            0,
            0,
            0,
            rank,
            n_ranks,
            RECORD.itemsize,
            os.getpid(),
            VERSION,
        )
        self._store(self._place(), (*header, 0, 0, 0))
        self._text(STRING, HOST, socket.gethostname().encode())
        self._text(STRING, BOOT, BOOT_FILE.read_bytes().strip() if BOOT_FILE.exists() else b"")
        self._text(STRING, RECORDER, b"mpi4py proxy")

    def event(
        self,
        kind: int,
        name: str,
        start_ns: int,
        end_ns: int,
        *,
        peer: int = -1,
        tag: int = -1,
        comm: int = -1,
        size: int = 0,
        number: int = 0,
        flags: int = 0,
        site: int = 0,
        count: int = 0,
    ) -> int:
        """Append an event, after the one that is held back; its place, for `patch`."""
        self._let_go()
        text = self._strings.get(name)
        if text is None:
            text = self._string(name)
        place = self._place()
        self._store(place, (start_ns, end_ns, kind, 0, flags, peer, tag, comm, size, number, site, text, count))
        return place

    def _let_go(self) -> None:
        """Write what is held back."""
        held, self.held = self.held, None
        if held is not None:
            held()

    def cost(self, end_ns: int) -> None:
        """Count what was spent since the end of the recorded call; one event in some is looked at."""
        self._n_events += 1
        if self._n_events % SAMPLED == 0:
            self._own_ns += (time.monotonic_ns() - end_ns) * SAMPLED

    def patch(self, place: int, **values: int) -> None:
        """Change fields of a record (see `RECORD`)."""
        piece, at = divmod(place, PIECE_RECORDS)
        for name, value in values.items():
            kind, offset = RECORD.fields[name][:2]  # type: ignore[index]
            begin = at * LAYOUT.size + offset
            self._pieces[piece][begin : begin + kind.itemsize] = value.to_bytes(kind.itemsize, "little", signed=kind.kind == "i")

    def site(self, depth: int) -> int:
        """Number of the place in the program that stands ``depth`` calls above the caller."""
        frame: FrameType = sys._getframe(depth + 1)
        key = (frame.f_code, frame.f_lineno)
        number = self._sites.get(key)
        if number is None:
            number = self._sites[key] = len(self._sites) + 1
            text = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_qualname}"
            self._text(SITE, 0, text.encode(), READY_TEXT, number)
        return number

    def members(self, number: int, ranks: Sequence[int]) -> None:
        """Append a communicator's members, ranks of the world."""
        self._text(COMM, number, struct.pack(f"<{len(ranks)}i", *ranks))

    def raw(self, kind: int, **values: int) -> None:
        """Append a record of some kind with some fields."""
        place = self._place()
        self.patch(place, **values)
        self.patch(place, kind=kind)

    def close(self, n_wrong_ends: int) -> None:
        """Write the end, and cut the file to what is in it."""
        self._let_go()
        self.raw(COUNT, id=n_wrong_ends, size=self._own_ns)
        now = time.monotonic_ns()
        self.raw(END, start_ns=now, end_ns=now, id=self._n_records + 1)
        for piece in self._pieces:
            piece.close()
        os.ftruncate(self._file, self._n_records * LAYOUT.size)
        os.close(self._file)

    def _string(self, text: str) -> int:
        number = self._strings[text] = len(self._strings)
        self._text(STRING, number, text.encode("utf-8", "backslashreplace"))
        return number

    def _place(self) -> int:
        """Room for one record."""
        if self._n_records == len(self._pieces) * PIECE_RECORDS:
            begin = len(self._pieces) * PIECE_BYTES
            # Room is claimed, not only named: a full disk is an error here, not a bus error later.
            os.posix_fallocate(self._file, begin, PIECE_BYTES)
            self._pieces.append(mmap.mmap(self._file, PIECE_BYTES, offset=begin))
        self._n_records += 1
        return self._n_records - 1

    def _store(self, place: int, values: tuple[int, ...]) -> None:
        piece, at = divmod(place, PIECE_RECORDS)
        LAYOUT.pack_into(self._pieces[piece], at * LAYOUT.size, *values)

    def _text(self, kind: int, number: int, content: bytes, flags: int = 0, site: int = 0) -> None:
        """Head and text; the head's kind last, so that a torn file holds the whole text or its end."""
        head = self._place()
        self.patch(head, flags=flags, name=number, count=len(content), site=site)
        for begin in range(0, len(content), LAYOUT.size):
            piece, at = divmod(self._place(), PIECE_RECORDS)
            part = content[begin : begin + LAYOUT.size]
            self._pieces[piece][at * LAYOUT.size : at * LAYOUT.size + len(part)] = part
        self.patch(head, kind=kind)
