"""Limits of what the tasks find, from a TOML file: ``device = limit`` for each finding of each task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.core.suggest import known_word, nearest_hint
from mlperf.studies.open_data.scoring.result import NAN, Finding, Goal, judged

BOUNDS = ("at_least", "at_most")

Key = tuple[str, str, str]
"""Task, device, what."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Smallest and largest value allowed: a number, the name of another finding of the same device, or NaN for none."""

    lower: float | str = NAN
    upper: float | str = NAN


def read_limits(path: Path | str, tasks: Collection[str]) -> dict[Key, Limit]:
    """Read the limits of some tasks.

    Parameters
    ----------
    path : path
        TOML: a table for each finding of each task, in it ``at_least`` or ``at_most`` (or both), and in these one limit a device::

            [A2."ratio: MAPE"]
            at_most = { V100 = 0.07, T4 = "WLS: MAPE" }

        A limit is a number in the unit of the finding (errors and shares are fractions, flags 1 or 0), or the name of another
        finding of the same device.
    tasks : collection of str
        Names that a task may have.

    Raises
    ------
    DataError
        The file is missing, no TOML, or holds an unknown task or bound, or a limit that is neither number nor text.
    """
    limits: dict[Key, Limit] = {}
    for task, findings in read_toml(path).items():
        known_word(task, tasks, "task", place=str(path), error=DataError)
        for what, bounds in _table(findings, f"{path}, {task}").items():
            place = f"{path}, {task}, {what}"
            lower, upper = _bounds(_table(bounds, place), place)
            for device in dict.fromkeys((*lower, *upper)):
                limits[task, device, what] = Limit(lower.get(device, NAN), upper.get(device, NAN))
    return limits


def judge(findings: Sequence[Finding], limits: Mapping[Key, Limit]) -> tuple[Goal, ...]:
    """Goals in the order of the findings; last, missed for want of a value, the limits of what was not found.

    Raises
    ------
    DataError
        A limit names a finding that the device does not have.
    """
    found = {(one.task, one.device, one.what): one for one in findings}
    absent = [Finding(*key, value=NAN) for key in limits if key not in found]
    values = {key: one.value for key, one in found.items()}
    goals = []
    for one in (*(one for key, one in found.items() if key in limits), *absent):
        limit = limits[one.task, one.device, one.what]
        goals.append(judged(one, *(_value(bound, one, values) for bound in (limit.lower, limit.upper))))
    return tuple(goals)


def _value(bound: float | str, finding: Finding, values: Mapping[Key, float]) -> float:
    if not isinstance(bound, str):
        return bound
    key = (finding.task, finding.device, bound)
    if key in values:
        return values[key]
    if finding.value != finding.value:
        return NAN
    known = [what for task, device, what in values if (task, device) == key[:2]]
    place = f"limit of {finding.task}, {finding.what}, {finding.device}"
    raise DataError(f"got {bound!r}, expected a number or one of {', '.join(known)}", place=place, hint=nearest_hint(bound, known))


def _bounds(bounds: Mapping[str, Any], place: str) -> tuple[dict[str, float | str], dict[str, float | str]]:
    unknown = [name for name in bounds if name not in BOUNDS]
    if unknown or not bounds:
        raise DataError(f"got {unknown[0] if unknown else 'no limit'!r}, expected {' or '.join(BOUNDS)}", place=place)
    lower, upper = (
        {device: _limit(value, f"{place}, {name}, {device}") for device, value in _table(bounds.get(name, {}), place).items()}
        for name in BOUNDS
    )
    return lower, upper


def _limit(value: Any, place: str) -> float | str:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or value != value:
        raise DataError(f"got {value!r}, expected a number or the name of another finding", place=place)
    return value if isinstance(value, str) else float(value)


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise DataError(f"got {value!r}, expected a table", place=place)
    return value
