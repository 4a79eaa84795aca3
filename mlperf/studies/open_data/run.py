"""Every task asked for is run device by device, in as many processes as are given, and its findings judged by limits."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from mlperf.core.children import tied
from mlperf.core.progress import tracked
from mlperf.core.suggest import known_word
from mlperf.datasets.open.open_data import open_file
from mlperf.studies.open_data.limits import Key, Limit, judge, read_limits
from mlperf.studies.open_data.scoring.result import Finding, OpenAccuracy, TaskResult
from mlperf.studies.open_data.tasks import TASKS

PARTLY = ("some devices only: findings over all of them are left out",)
"""Note on a task that some devices were picked of."""


def run_tasks(
    tasks: Sequence[str] = (),
    folder: Path | str | None = None,
    jobs: int = 1,
    limits: Path | str | None = None,
    devices: Sequence[str] = (),
) -> OpenAccuracy:
    """Score every method of some tasks on open measurements.

    Parameters
    ----------
    tasks : sequence of str
        Names (``"A1"``, ``"B1"``); default all.
    folder : path, optional
        Folder of the open data; by default the one that ``MLPERF_SHARED_DATA`` names.
    jobs : int
        Processes; -1 takes every core. The figures do not depend on it, the times to fit do.
    limits : path, optional
        TOML file of limits (`read_limits`) to judge the findings by; those of tasks and devices that are not run are left aside.
    devices : sequence of str
        Run on these devices (or sets, as the tables name them) only, without findings that need every device; default all.

    Raises
    ------
    UsageError
        No such task, or no such device of any of the tasks.
    DataError
        The folder is not known, a table is missing or damaged, or the limits are not as `read_limits` describes them.
    """
    names = [known_word(name, TASKS, "task") for name in dict.fromkeys(tasks)] or list(TASKS)
    known = {} if limits is None else read_limits(limits, TASKS)
    home = None if folder is None else Path(folder)
    every = [(name, device) for name in TASKS if name in names for device in TASKS[name].subjects(home)]
    parts = only(every, devices) if devices else every
    results = Parallel(n_jobs=jobs)(
        delayed(tied(run_part))(name, device, home) for name, device in tracked(parts, "tasks and devices")
    )
    names = [name for name in names if any(name == task for task, _ in parts)]
    absent = {name: PARTLY if devices else absent_notes(name, home) for name in names}
    asked = {key: limit for key, limit in known.items() if key[0] in names and (not devices or key[1] in devices)}
    return collected(parts, results, data_sha256(names, home), absent, asked, is_whole=not devices)


def only(parts: Sequence[tuple[str, str]], devices: Sequence[str]) -> list[tuple[str, str]]:
    """The (task, device) of some devices.

    Raises
    ------
    UsageError
        None of the tasks is run on one of them.
    """
    known = list(dict.fromkeys(device for _, device in parts))
    chosen = {known_word(device, known, "device") for device in devices}
    return [part for part in parts if part[1] in chosen]


def absent_notes(name: str, folder: Path | None) -> tuple[str, ...]:
    """Which of a task's devices a folder does not hold."""
    absent = TASKS[name].absent(folder)
    return (f"no rows of {', '.join(absent)}",) if absent else ()


def run_part(name: str, device: str, folder: Path | None) -> tuple[TaskResult, float]:
    """One task on one device, and the CPU seconds it took."""
    started = time.process_time()
    return TASKS[name].run(device, folder), time.process_time() - started


def data_sha256(names: Sequence[str], folder: Path | None) -> dict[str, str]:
    """SHA-256 of every file that the tasks read."""
    tables = sorted({table for name in names for table in TASKS[name].tables})
    paths = {open_file(name, table, folder) for name, table in tables}
    return {f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


def collected(
    parts: Sequence[tuple[str, str]],
    results: Sequence[tuple[TaskResult, float]],
    sha256: Mapping[str, str],
    absent: Mapping[str, tuple[str, ...]],
    limits: Mapping[Key, Limit],
    *,
    is_whole: bool = True,
) -> OpenAccuracy:
    """The results of all (task, device) in one, with the findings over all devices where they ran, and the goals."""
    names = list(dict.fromkeys(name for name, _ in parts))
    by_task = {name: [one for (task, _), one in zip(parts, results, strict=True) if task == name] for name in names}
    scores = {name: tuple(one for result, _ in found for one in result.scores) for name, found in by_task.items()}
    notes = {name: tuple(note for result, _ in found for note in result.notes) for name, found in by_task.items()}
    findings: list[Finding] = []
    for name, found in by_task.items():
        findings += [one for result, _ in found for one in result.findings]
        findings += TASKS[name].over_devices(scores[name]) if is_whole else ()
    return OpenAccuracy(
        scores=tuple(one for name in names for one in scores[name]),
        findings=tuple(findings),
        goals=judge(findings, limits),
        notes={name: (*absent.get(name, ()), *own) for name, own in notes.items()},
        protocols={name: {key: getattr(TASKS[name], key) for key in ("title", "data", "split")} for name in names},
        seconds={name: sum(spent for _, spent in found) for name, found in by_task.items()},
        data_sha256=dict(sha256),
    )
