"""What runs of a setting were asked for beyond what their rows say: `same_asked` refuses to count other runs as made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mlperf.core.errors import UsageError
from mlperf.datasets.reading.folder import HOST, read_host, told

ASKED = "asked"
"""Under which name ``host.json`` tells it."""


def same_asked(
    folder: Path, records: str, asked: Mapping[str, Mapping[str, Any]], made: Collection[str]
) -> dict[str, Mapping[str, Any]]:
    """Refuse to count runs as made that were asked for otherwise.

    Parameters
    ----------
    folder : Path
        Of the tables.
    records : str
        Under which name ``host.json`` tells of these runs.
    asked : mapping
        By setting, in words: options with which its runs are to be made, by their names on the command line.
    made : collection of str
        Settings of which the folder has a run already.

    Returns
    -------
    dict
        What ``host.json`` is to say from now on: nothing of runs of earlier versions, which told nothing.

    Raises
    ------
    UsageError
        Names setting, option, and both values.
    """
    place = ("protocol", records, ASKED)
    host = read_host(folder)
    known = told(host, folder, *place)
    for setting, options in asked.items():
        before = told(host, folder, *place, setting) if setting in made else {}
        for option, now in options.items():
            if option in before and before[option] != now:
                raise UsageError(
                    f"got {option} {now}, expected {before[option]} as in the runs of {setting} that are there",
                    place=str(folder / HOST),
                    hint="Runs of one setting are counted and averaged together: give the same again, or name another folder.",
                )
    return {**known, **{setting: options for setting, options in asked.items() if setting in known or setting not in made}}
