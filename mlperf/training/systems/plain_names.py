"""Columns of steps under the names that are known, where a header spells them otherwise: ``step (ms)``, ``Subbatch Size``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.reading.notes import FAULTS
from mlperf.datasets.reading.time_units import TIME_SUFFIXES, plain_name, seconds_in
from mlperf.training.systems.step_columns import COLUMNS

KNOWN = (
    *COLUMNS,
    *(f"{name}{end}" for name in ("step", "step_time", "exchange") for end in TIME_SUFFIXES),
    *("n_workers", "n_servers", "updates_per_s", "steps_per_s", "samples_per_s", "size_bytes"),
)
"""Names that tables of steps, of speeds and of exchanges have."""
RENAMED = "renamed"
"""Attribute of a frame: names of its file to those that they were read as."""


def with_plain_names(
    rows: pd.DataFrame, kept: Collection[str], place: str, target: str | None = None, known: Collection[str] = KNOWN
) -> pd.DataFrame:
    """The rows with known names where a header spells them otherwise; ``attrs[RENAMED]`` tells which.

    Parameters
    ----------
    rows : DataFrame
        As they were read.
    kept : collection of str
        Columns that were asked for by name and stay as they are.
    place : str
        The file, for messages.
    target : str, optional
        Column of the time: becomes one whose name ends in its unit.
    known : collection of str
        Names that headers are read as.

    Raises
    ------
    DataError
        Two headers are one name.
    """
    renamed: dict[str, str] = {}
    for name in map(str, rows):
        plain = plain_name(name)
        is_known = plain in known or (name == target and seconds_in(plain) is not None)
        if name in (*known, *kept) or not is_known or name == plain:
            continue
        if plain in rows or plain in renamed.values():
            got = f"got {name!r} and another column that is {plain!r}, expected one"
            raise DataError(got, place=f"{place}, line 1, column {name}", hint="Leave one out, or give it a name of its own.")
        renamed[name] = plain
    found = rows.rename(columns=renamed)
    faults = {renamed.get(name, name): fault for name, fault in rows.attrs.get(FAULTS, {}).items()}
    found.attrs = {**rows.attrs, RENAMED: renamed, FAULTS: faults}
    return found


def renamed_notes(rows: pd.DataFrame) -> tuple[str, ...]:
    """Which columns were read under another name than their file has, one sentence each."""
    return tuple(f"column {name!r} is read as {plain}" for name, plain in rows.attrs.get(RENAMED, {}).items())


def time_hint(names: Iterable[object]) -> str:
    """What to do where no column is called a step's time but one may be; empty where none may."""
    texts = [str(name) for name in names if str(name) not in COLUMNS]
    timed = next((name for name in texts if seconds_in(name) is not None), None)
    if timed is not None:
        return f"Is it {timed!r}? Then --target '{timed}'."
    named = next((name for name in texts if re.search(r"step|time|duration|iteration", name, re.I)), None)
    return "" if named is None else f"Is it {named!r}? Then write it in one of these units and call it so, as in step_s."
