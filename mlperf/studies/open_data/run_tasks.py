"""`climb`: every rung asked for, one task a rung and device."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.open.open_data import open_file
from mlperf.studies.open_data.result import Climbed, Goal, Ladder, Score
from mlperf.studies.open_data.tasks import RUNGS


def climb(rungs: Sequence[str] = (), folder: Path | str | None = None, jobs: int = 1) -> Ladder:
    """Score every method of some rungs on open measurements.

    Parameters
    ----------
    rungs : sequence of str
        Names (``"A1"``, ``"B1"``); default all.
    folder : path, optional
        Folder of the open data; by default the one that ``MLPERF_SHARED_DATA`` names.
    jobs : int
        Processes; -1 takes every core. The figures do not depend on it, the times to fit do.

    Returns
    -------
    Ladder

    Raises
    ------
    UsageError
        No such rung.
    DataError
        The folder is not known, or a table is missing or damaged.
    """
    names = list(dict.fromkeys(rungs)) or list(RUNGS)
    unknown = [name for name in names if name not in RUNGS]
    if unknown:
        raise UsageError(f"got rung {unknown[0]!r}, expected one of {', '.join(RUNGS)}", hint=did_you_mean(unknown[0], RUNGS))
    home = None if folder is None else Path(folder)
    tasks = [(name, device) for name in RUNGS if name in names for device in RUNGS[name].subjects(home)]
    found = Parallel(n_jobs=jobs)(delayed(climb_one)(name, device, home) for name, device in tasks)
    return gathered(tasks, found, data_sha256(names, home), {name: absent_notes(name, home) for name in names})


def absent_notes(name: str, folder: Path | None) -> tuple[str, ...]:
    """Which devices with goals a folder does not hold."""
    absent = RUNGS[name].absent(folder)
    return (f"no rows of {', '.join(absent)}",) if absent else ()


def climb_one(name: str, device: str, folder: Path | None) -> tuple[Climbed, float]:
    """One rung on one device, and the CPU seconds it took."""
    started = time.process_time()
    return RUNGS[name].climb(device, folder), time.process_time() - started


def data_sha256(names: Sequence[str], folder: Path | None) -> dict[str, str]:
    """SHA-256 of every file that the rungs read."""
    tables = sorted({table for name in names for table in RUNGS[name].tables})
    paths = {open_file(name, table, folder) for name, table in tables}
    return {f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


def gathered(
    tasks: Sequence[tuple[str, str]],
    found: Sequence[tuple[Climbed, float]],
    sha256: Mapping[str, str],
    absent: Mapping[str, tuple[str, ...]],
) -> Ladder:
    """All tasks in one result, with the goals over several devices."""
    names = list(dict.fromkeys(name for name, _ in tasks))
    by_rung = {name: [one for (task, _), one in zip(tasks, found, strict=True) if task == name] for name in names}
    scores = {name: tuple(one for climbed, _ in parts for one in climbed.scores) for name, parts in by_rung.items()}
    goals = [
        goal for name, parts in by_rung.items() for goal in (*(g for c, _ in parts for g in c.goals), *over(name, scores[name]))
    ]
    return Ladder(
        scores=tuple(one for name in names for one in scores[name]),
        goals=tuple(goals),
        notes={
            name: (*absent.get(name, ()), *(note for climbed, _ in parts for note in climbed.notes))
            for name, parts in by_rung.items()
        },
        protocols={name: {key: getattr(RUNGS[name], key) for key in ("title", "data", "split")} for name in names},
        seconds={name: sum(spent for _, spent in parts) for name, parts in by_rung.items()},
        data_sha256=dict(sha256),
    )


def over(name: str, scores: Sequence[Score]) -> Sequence[Goal]:
    """Goals over all devices of a rung."""
    made = RUNGS[name].over_devices
    return () if made is None else made(scores)


def told(parts: Sequence[tuple[Climbed, float]]) -> list[str]:
    """Notes of all devices of a rung."""
    return [note for climbed, _ in parts for note in climbed.notes]
