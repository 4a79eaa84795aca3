"""Measured networks: the file that ``mlperf collect loggps`` writes, as a preset with its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.systems.loggps.costs import Cost, Preset
from mlperf.systems.loggps.parameters import LogGPS

COSTS = ("eager_send", "eager_recv", "eager_off", "sync_send", "sync_recv", "sync_off")
PARAMETERS = (
    *("latency_s", "overhead_s", "recv_overhead_s", "gap_s"),
    *("gap_s_per_byte", "send_s_per_byte", "recv_s_per_byte", "eager_limit_bytes"),
)
LARGEST = 1e12
"""Seconds or bytes; what is larger is no measurement."""
HIDDEN = ("gap_s_per_byte", "send_s_per_byte", "recv_s_per_byte")
"""Parameters that the measured lines hold in their seconds a byte: changing them would change nothing."""
HINT = "mlperf collect loggps -o network.toml writes such a file."


def read_network(path: Path | str) -> tuple[Preset, LogGPS]:
    """Read a measured network.

    Parameters
    ----------
    path : path
        TOML with ``[parameters]`` (names of `LogGPS`) and ``[costs.eager_send]`` and so on (``const_s``, ``s_per_byte``).

    Returns
    -------
    tuple of Preset and LogGPS
        The preset's costs are the measured lines themselves. Of L and o they hold what `LogGPS` says as multiples (o_s in sends and
        requests, L in requests and arrivals), so that changing L or o changes them; what a byte costs is the lines' own.

    Raises
    ------
    DataError
        Something is missing or no number of 0 or more; names file and key.
    """
    document = read_toml(Path(path))
    table = _table(document, "parameters", path)
    values = {name: _number(table, name, f"{path}, parameters.{name}") for name in PARAMETERS}
    parameters = LogGPS(**values)
    costs: dict[str, Any] = {name: _cost(document, name, parameters, path) for name in COSTS}
    preset = Preset(
        f"measured ({document.get('transport', 'unknown transport')})",
        f"{Path(path).name}, measured between two ranks",
        **costs,
        unused=HIDDEN,
    )
    return preset, parameters


MULTIPLES: Mapping[str, tuple[str, ...]] = {
    "eager_send": ("overhead_s",),
    "eager_recv": ("recv_overhead_s",),
    "eager_off": ("overhead_s", "latency_s"),
    "sync_off": ("overhead_s", "latency_s"),
}
"""Parameters that are in a measured constant once."""


def _cost(document: Mapping[str, Any], name: str, parameters: LogGPS, path: Path | str) -> Cost:
    """One line, the parameters that it is made of apart from the rest of it."""
    table = _table(_table(document, "costs", path), name, path)
    const_s, per_byte = (_number(table, key, f"{path}, costs.{name}.{key}") for key in ("const_s", "s_per_byte"))
    inside = MULTIPLES.get(name, ())
    rest = const_s - sum(getattr(parameters, each) for each in inside)
    return Cost(rest, per_byte, dict.fromkeys(inside, (1.0, 0.0)))


def _table(document: Mapping[str, Any], name: str, path: Path | str) -> Mapping[str, Any]:
    found = document.get(name)
    if not isinstance(found, Mapping):
        raise DataError(f"has no table {name}", place=str(path), hint=HINT)
    return found


def _number(table: Mapping[str, Any], name: str, place: str) -> float:
    value = table.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= LARGEST:
        raise DataError(f"got {value!r}, expected a number from 0 to {LARGEST:g}", place=place, hint=HINT)
    return float(value)
