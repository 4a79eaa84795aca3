"""ALOG as text: definitions at the head of the file, then lines of numbers as columns."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.traces.readers.content import line_error, read_content, whole_number

CREATOR, N_EVENTS, N_PROCESSES, FORMAT, ROLLOVER, STATE, NAME = -1, -2, -3, -10, -11, -13, -15
LAST_HEADER = -100
SEND, RECEIVE = -101, -102
FIELDS = ("type", "process", "task", "data", "cycle", "timestamp")
COMMENT = ("tag", "size", "ns")
NS_PER_US = 1000
HIGHEST_RANK = 2**20
OWN = "mlperf"
"""First word of the creator of files whose state lines tell communicator (task), root (data), size, what belongs together (tag)."""
EXACT = 2.0**53
"""Floats hold all whole numbers below it."""
LATEST_US = 2**52
"""Larger timestamps would not fit 64 bits of nanoseconds."""


@dataclass(slots=True)
class Definitions:
    """What the head of a file defines.

    Attributes
    ----------
    states : dict
        Type of the starting event to (type of the ending event, name).
    descriptions : dict
        Type to text.
    process_names : dict
        Process to name.
    counts : dict
        Type of the header line to the number in it.
    rollover_us : int
        Microseconds of one cycle; 0: cycles mean nothing.
    creator : str
        What wrote the file.
    """

    states: dict[int, tuple[int, str]] = field(default_factory=dict)
    descriptions: dict[int, str] = field(default_factory=dict)
    process_names: dict[int, str] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    rollover_us: int = 0
    creator: str = ""

    @property
    def is_own(self) -> bool:
        """Whether `write_alog` wrote the file."""
        return self.creator.split()[:1] == [OWN]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The events of a file in its order; every array has shape (n_lines,).

    Attributes
    ----------
    type, process, task, data : array of int64
    time_ns : array of int64
        From cycle, timestamp and the extension ``ns=``.
    tag, size_bytes : array of int64
        The first two words of a comment; -1 and 0 where absent.
    line : array of int64
        Number of the line in the file.
    """

    type: IntArray
    process: IntArray
    task: IntArray
    data: IntArray
    time_ns: IntArray
    tag: IntArray
    size_bytes: IntArray
    line: IntArray


def read_alog_lines(path: Path) -> tuple[Definitions, Lines]:
    """Read a file's definitions and events.

    Raises
    ------
    DataError
        A line lacks fields, a field is no number, a message has no tag and size.
    """
    raw = read_content(path)
    defined = Definitions()
    start, number = _read_head(path, raw, defined)
    body = raw[start:]
    if not body.strip():
        raise DataError("holds definitions and no event", place=str(path), hint="Was the run ended before its log was written?")
    try:
        columns = _fast_columns(body, number)
    except (ValueError, OverflowError, pd.errors.ParserError):
        # Something is unusual: line by line it is either understood or named.
        columns = _slow_columns(path, body, number, defined)
    return defined, _checked(path, columns, defined)


def _read_head(path: Path, raw: bytes, defined: Definitions) -> tuple[int, int]:
    """Read lines up to the first event; where that begins, and the number of its line."""
    position, number = 0, 1
    while position < len(raw):
        end = raw.find(b"\n", position)
        end = len(raw) if end < 0 else end
        text = raw[position:end].decode("utf-8", "replace").strip()
        if text and not _define(path, number, text, defined):
            break
        position, number = end + 1, number + 1
    return min(position, len(raw)), number


def _define(path: Path, number: int, text: str, defined: Definitions) -> bool:
    """Take a header line in; False if it is an event."""
    words = text.split(None, len(FIELDS))
    if len(words) < len(FIELDS):
        raise line_error(path, number, text, f"at least six fields: {' '.join(FIELDS)}", "Is this an ALOG file?")
    kind = whole_number(path, number, "type", words[0])
    if kind >= 0 or kind < LAST_HEADER:
        return False
    process, task, data = (whole_number(path, number, name, word) for name, word in zip(FIELDS[1:4], words[1:4], strict=True))
    comment = words[6].strip() if len(words) > len(FIELDS) else ""
    if kind in (N_EVENTS, N_PROCESSES):
        defined.counts[kind] = data
    elif kind == CREATOR:
        defined.creator = comment
    elif kind == ROLLOVER:
        defined.rollover_us = _microseconds(path, number, words[5])
    elif kind == STATE:
        defined.states[task] = (data, comment.partition(" ")[2].strip() or comment)
    elif kind == FORMAT:
        defined.descriptions[data] = comment
    elif kind == NAME:
        defined.process_names[process] = comment
    return True


def _fast_columns(body: bytes, first_line: int) -> dict[str, IntArray]:
    """Columns of lines that are all as they should be; ValueError where one is not."""
    names = [*FIELDS, *COMMENT]
    kinds = dict.fromkeys(FIELDS, np.int64) | {"tag": np.float64, "size": np.float64, "ns": str}
    table = pd.read_csv(io.BytesIO(body), sep=r"\s+", header=None, names=names, dtype=kinds, engine="c", skip_blank_lines=False)
    if table["size"].isna()[np.isin(table["type"], (SEND, RECEIVE))].any():
        raise ValueError("a message without tag and size")
    for name in COMMENT[:2]:
        if (table[name].abs() >= EXACT).any() or (table[name].dropna() % 1 != 0).any():
            raise ValueError("a number that a float does not hold")
    columns = {name: table[name].to_numpy(np.int64) for name in FIELDS}
    columns["tag"] = np.nan_to_num(table["tag"].to_numpy(), nan=-1).astype(np.int64)
    columns["size"] = np.nan_to_num(table["size"].to_numpy(), nan=-1).astype(np.int64)
    columns["ns"] = _extension(table["ns"])
    columns["line"] = np.arange(len(table)) + first_line
    return columns


def _extension(texts: pd.Series[str]) -> IntArray:
    """The nanoseconds behind ``ns=``, 0 where absent."""
    codes, distinct = pd.factorize(texts)
    values = np.zeros(len(distinct) + 1, dtype=np.int64)
    for place, text in enumerate(distinct):
        if not re.fullmatch(r"ns=\d{1,3}", str(text)):
            raise ValueError("another comment")
        values[place] = int(text[3:])
    return values[codes]


def _slow_columns(path: Path, body: bytes, first_line: int, defined: Definitions) -> dict[str, IntArray]:
    """Columns line by line: comments in words, fractions of microseconds, definitions among events, and errors with their place."""
    rows: list[tuple[int, ...]] = []
    for number, raw in enumerate(body.split(b"\n"), first_line):
        text = raw.decode("utf-8", "replace").strip()
        if text and not _define(path, number, text, defined):
            rows.append(_event(path, number, text))
    table = np.array(rows, dtype=np.int64).reshape(-1, len(FIELDS) + len(COMMENT) + 1)
    return dict(zip((*FIELDS, *COMMENT, "line"), table.T, strict=True))


def _event(path: Path, number: int, text: str) -> tuple[int, ...]:
    """One event's numbers: the six fields, tag, size, nanoseconds, line."""
    words = text.split()
    fields = [whole_number(path, number, name, word) for name, word in zip(FIELDS[:5], words, strict=False)]
    time_ns = _nanoseconds(path, number, words[5])
    comment = words[6:]
    more = next((int(word[3:]) for word in comment if re.fullmatch(r"ns=\d{1,3}", word)), time_ns % NS_PER_US)
    tag, size = -1, -1
    numbers = len(comment) > 1 and all(re.fullmatch(r"-?\d{1,18}", word) for word in comment[:2])
    if fields[0] in (SEND, RECEIVE) and len(comment) < 2:
        raise line_error(path, number, text, "tag and size behind a send or receive")
    if fields[0] in (SEND, RECEIVE) or numbers:
        tag, size = whole_number(path, number, "tag", comment[0]), whole_number(path, number, "size", comment[1])
    return (*fields, time_ns // NS_PER_US, tag, size, more, number)


def _nanoseconds(path: Path, number: int, word: str) -> int:
    """Microseconds with up to three decimals (more are cut) as nanoseconds."""
    whole, point, fraction = word.partition(".")
    if point and not (fraction.isascii() and fraction.isdigit()):
        raise DataError(f"got {word[:40]!r}, expected microseconds", place=f"{path}, line {number}, column timestamp")
    return whole_number(path, number, "timestamp", whole) * NS_PER_US + int(f"{fraction[:3]:0<3}" if fraction else 0)


def _microseconds(path: Path, number: int, word: str) -> int:
    """Whole microseconds."""
    return _nanoseconds(path, number, word) // NS_PER_US


def _checked(path: Path, columns: dict[str, IntArray], defined: Definitions) -> Lines:
    """Lines within bounds, on one time axis."""
    message = np.isin(columns["type"], (SEND, RECEIVE))
    bounds = (
        ("process", columns["process"], 0, HIGHEST_RANK, np.ones(len(message), dtype=bool)),
        ("data", columns["data"], 0, HIGHEST_RANK, message),
        ("size", columns["size"], 0, 2**50, message),
        ("tag", columns["tag"], -1, 2**31 - 1, message),
        ("timestamp", columns["timestamp"], 0, LATEST_US, np.ones(len(message), dtype=bool)),
        ("cycle", columns["cycle"], 0, 2**31, np.ones(len(message), dtype=bool)),
    )
    for name, values, least, most, concerned in bounds:
        wrong = concerned & ((values < least) | (values > most))
        if np.any(wrong):
            row = int(np.flatnonzero(wrong)[0])
            place = f"{path}, line {columns['line'][row]}, column {name}"
            raise DataError(f"got {values[row]}, expected {least} to {most}", place=place)
    if int(columns["cycle"].max()) * defined.rollover_us > LATEST_US:
        raise DataError(
            f"cycle {columns['cycle'].max()} x rollover {defined.rollover_us} us is later than any clock", place=str(path)
        )
    time_ns = (columns["cycle"] * defined.rollover_us + columns["timestamp"]) * NS_PER_US + columns["ns"]
    size = np.maximum(columns["size"], 0)
    return Lines(
        type=columns["type"],
        process=columns["process"],
        task=columns["task"],
        data=columns["data"],
        time_ns=time_ns,
        tag=columns["tag"],
        size_bytes=size,
        line=columns["line"],
    )
