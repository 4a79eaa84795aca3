"""Series written while something runs: one text file, a line a reading of all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from mlperf.core.durations import number_in
from mlperf.core.errors import DataError
from mlperf.traces.events.counters import CounterTable, Series, counter_table
from mlperf.traces.readers.content import whole_lines
from mlperf.traces.sources.source import InFolder, Read, WritingThread

FILE = "series.txt"
EVERY_S = 0.1
Reading = Callable[[], Mapping[Series, float]]


class SeriesWriter:
    """A thread of ours that reads and writes down, ten times a second.

    Lines: ``D number name unit what`` explains a number, ``R time number=value ...`` is a reading; fields are separated by tabs,
    times are nanoseconds of CLOCK_MONOTONIC.
    """

    def __init__(self, read: Reading, every_s: float = EVERY_S) -> None:
        self._read, self._every_s = read, every_s
        self._end = threading.Event()
        self._thread: WritingThread | None = None
        self._spent_s = 0.0

    def start(self, folder: Path) -> None:
        """Begin."""
        self._thread = WritingThread(partial(self._run, folder / FILE), "series")
        self._thread.start()

    def stop(self) -> float:
        """Take a last reading and end; returns CPU seconds that it took. OSError: it could not be written."""
        self._end.set()
        if self._thread is not None:
            self._thread.finish()
        return self._spent_s

    def _run(self, path: Path) -> None:
        numbers: dict[Series, int] = {}
        begun = time.thread_time()
        with path.open("w", encoding="utf-8", buffering=1) as file:
            while True:
                last = self._end.is_set()
                values = self._read()
                at = time.monotonic_ns()
                for each in values:
                    if each not in numbers:
                        numbers[each] = len(numbers)
                        file.write(f"D\t{numbers[each]}\t{each.name}\t{each.unit}\t{each.what}\n")
                file.write("\t".join(("R", str(at), *(f"{numbers[each]}={value:.10g}" for each, value in values.items()))) + "\n")
                if last:
                    break
                self._end.wait(self._every_s)
        self._spent_s = time.thread_time() - begun


class SeriesSource(InFolder):
    """A source whose readings this process takes and writes down."""

    def __init__(self, read: Reading) -> None:
        super().__init__()
        self._writer = SeriesWriter(read)

    def follow(self, pid: int) -> None:
        """Begin; what the command itself does is a matter of the source."""
        del pid
        self._writer.start(self.folder)

    def stop(self) -> float:
        """End; returns CPU seconds that it took."""
        return self._writer.stop()

    def read(self, folder: Path) -> Read:
        """Series."""
        return Read(counters=read_series(folder / FILE)) if (folder / FILE).is_file() else Read()


def read_series(path: Path) -> CounterTable:
    """Read such a file; a last line that is cut off is left out, with a note.

    Raises
    ------
    DataError
        A line is not of the format; names file and line.
    """
    lines, notes = whole_lines(path)
    about: dict[str, Series] = {}
    found: dict[str, tuple[list[int], list[float]]] = {}
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        place = f"{path}, line {number}"
        if fields[0] == "D" and len(fields) == 5:
            about[fields[1]] = Series(fields[2], fields[3], fields[4])
        elif fields[0] == "R" and len(fields) > 1 and fields[1].isdigit() and len(fields[1]) < 19:
            for pair in fields[2:]:
                name, _, value = pair.partition("=")
                if name not in about:
                    raise DataError(f"got a value of series {name!r}, which no line before explains", place=place)
                times, values = found.setdefault(name, ([], []))
                times.append(int(fields[1]))
                values.append(_number(value, place))
        else:
            raise DataError(f"got {line[:40]!r}, expected D or R and its fields", place=place)
    return counter_table([(about[name], *columns) for name, columns in found.items()], notes=notes)


def _number(text: str, place: str) -> float:
    """A finite value."""
    value = number_in(text)
    if not np.isfinite(value):
        raise DataError(f"got {text!r}, expected a number", place=place)
    return value
