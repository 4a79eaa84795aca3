"""One network waited for in a folder: rows do not say for which, `host.json` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.reading.folder import HOST, HOST_HINT, read_host, told

NETWORK = "network"
"""The part of a run that is waited for."""


def network_waited(folder: Path, records: str) -> dict[str, Any]:
    """The network that runs of a folder waited for, also where later ones waited for none; empty before the first.

    Parameters
    ----------
    folder : Path
        Of the tables.
    records : str
        Under which name ``host.json`` tells of these runs.
    """
    host = read_host(folder)
    record = told(host, folder, "protocol", records)
    waits = record.get("waits", ())
    last = told(host, folder, "protocol", records, NETWORK) if isinstance(waits, Iterable) and NETWORK in waits else {}
    return dict(told(host, folder, "protocol", records, "network_waited") or last)


def check_same_network(folder: Path, records: str, network: Any) -> None:
    """Refuse to wait for another network in a folder than before: rows do not say for which, and count as made.

    Parameters
    ----------
    folder : Path
        Of the tables.
    records : str
        Under which name ``host.json`` tells of these runs.
    network : dataclass
        What is asked for. A record that lacks one of its fields means the default.

    Raises
    ------
    UsageError
        Says both.
    DataError
        The record tells of something that no network has.
    """
    known, names = network_waited(folder, records), {each.name for each in fields(network)}
    strange = sorted(set(known) - names)
    if strange:
        place = f"{folder / HOST}: $.protocol.{records}.network_waited"
        raise DataError(f"got {strange[0]!r:.60}, expected some of {', '.join(sorted(names))}", place=place, hint=HOST_HINT)
    before = type(network)(**known) if known else network
    if before != network:
        raise UsageError(f"got {network}, expected {before} as in the first runs", place=str(folder), hint="Name another folder.")
