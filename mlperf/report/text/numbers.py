"""Numbers for people: sensible digits, and the unit that reads best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

TIME_UNITS_S: Mapping[str, float] = MappingProxyType({"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0})
BYTE_UNITS: Mapping[str, float] = MappingProxyType({"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30})
ENERGY_UNITS_J: Mapping[str, float] = MappingProxyType({"Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9})
ABSENT = "-"
AUTO = "auto"


def number_text(value: float, digits: int = 4) -> str:
    """Text of ``value`` with ``digits`` significant digits; an exponent only below 1e-4 and from 1e9 on.

    Parameters
    ----------
    value : float
        NaN reads as ``-``, infinities as ``inf``.
    digits : int
        Significant digits of a fraction; whole digits are never cut.

    Returns
    -------
    str
        ``"0.01234"``, ``"1,281,167"``, ``"3.21e-07"``.
    """
    if math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -4 <= exponent < 9:
        return f"{value:.{digits - 2}e}"
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def percent_text(fraction: float) -> str:
    """A fraction in percent with three significant digits, at most two decimals."""
    if math.isnan(fraction):
        return ABSENT
    percent = 100.0 * fraction
    decimals = 2 if abs(percent) < 10 else 1
    return f"{percent:.{decimals}f} %"


def best_unit(values: Iterable[float], units: Mapping[str, float], default: str) -> str:
    """The largest unit in which the middle one of the non-zero values is at least 1.

    Parameters
    ----------
    values : iterable of float
        In the base unit; zeros and non-finite values have no say.
    units : mapping
        Name to size in the base unit, ascending.
    default : str
        The unit where no value has a say.
    """
    sizes = sorted(abs(value) for value in values if math.isfinite(value) and value != 0)
    if not sizes:
        return default
    middle = sizes[len(sizes) // 2]
    fitting = [name for name, size in units.items() if size <= middle]
    return fitting[-1] if fitting else next(iter(units))


class Seconds(float):
    """A time that is shown with its unit, for columns that mix epochs and microseconds; ``unit`` is ``"auto"`` or a given one."""

    unit: str = AUTO


def seconds_alike(values: Iterable[float]) -> list[Seconds]:
    """Times of one quantity, which share the unit that reads best for them all."""
    times = [Seconds(value) for value in values]
    unit = best_unit(times, TIME_UNITS_S, "s")
    for time in times:
        time.unit = unit
    return times


class Written(str):
    """A number that is written already, and stands at the right of its column."""

    __slots__ = ()


def seconds_text(value: float, unit: str) -> str:
    """A time with its unit: ``"37.10 min"``; ``unit`` is ``"auto"`` or a key of ``TIME_UNITS_S``."""
    if math.isnan(value):
        return ABSENT
    name = best_unit([value], TIME_UNITS_S, "s") if unit == AUTO else unit
    return f"{number_text(value / TIME_UNITS_S[name])} {name}"
