"""What is run and what it is judged by: a TOML file, fixed before the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Registration:
    """Runs of the registration program.

    Attributes
    ----------
    ranks, points, seed, bytes : int
        Processes, control points, seed of their places and times, size of messages.
    time_ms : float
        Mean time of a point on a process, milliseconds.
    edits, repeats : int
        Edits of each strategy; runs of each order.
    """

    ranks: int
    points: int
    seed: int
    time_ms: float
    bytes: int
    edits: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Compositing:
    """Runs of the compositing program.

    Attributes
    ----------
    ranks, side, frames, repeats : int
        Processes, pixels of a side of the image, images, runs of each.
    ns_per_pixel : float
        Time of compositing one pixel, nanoseconds.
    """

    ranks: int
    side: int
    ns_per_pixel: float
    frames: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Overhead:
    """Paired runs with and without a recorder."""

    pairs: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest errors and overhead, as fractions; least number of edits."""

    registration: float
    compositing: float
    transports: float
    overhead: float
    edits: int


@dataclass(frozen=True, slots=True)
class MessageProtocol:
    """All of it."""

    registration: Registration
    compositing: Compositing
    transports: Compositing
    overhead: Overhead
    limits: Limits


def read_message_protocol(path: Path) -> MessageProtocol:
    """Read a protocol.

    Raises
    ------
    DataError
        A table or a value is missing, or one too many is there.
    """
    document = read_toml(path)
    return MessageProtocol(
        _part(document, "registration", Registration, path),
        _part(document, "compositing", Compositing, path),
        _part(document, "transports", Compositing, path),
        _part(document, "overhead", Overhead, path),
        _part(document, "limits", Limits, path),
    )


def _part(document: Mapping[str, Any], name: str, kind: type[Part], path: Path) -> Part:
    """One table as its class."""
    table = document.get(name)
    known = set(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    if not isinstance(table, Mapping) or set(table) != known:
        got = ", ".join(table) if isinstance(table, Mapping) else "nothing"
        raise DataError(f"got {got}, expected {', '.join(sorted(known))}", place=f"{path}, table {name}")
    return kind(**table)
