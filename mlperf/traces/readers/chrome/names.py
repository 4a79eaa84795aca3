"""What names of profilers' files tell: a rank, a process and the moment of writing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

RANK_IN_NAME = re.compile(r"(?:^|[^a-z])(?:rank|worker)[_\-.]?(\d+)", re.IGNORECASE)
CYCLE = re.compile(r"(?P<worker>.+?)\.(?P<written>\d{10,19})\.pt\.trace\.json(?:\.gz)?", re.IGNORECASE)
"""``torch.profiler.tensorboard_trace_handler``: worker (host and process where nothing else is asked for), moment, ending."""


def rank_in(name: str) -> int | None:
    """The number after ``rank`` or ``worker`` in a file's name."""
    found = RANK_IN_NAME.search(name)
    return int(found[1]) if found and len(found[1]) < 10 else None


def cycles_of(paths: Sequence[Path | str]) -> Mapping[str, Sequence[Path]]:
    """Files of each worker in the order of their writing, where PyTorch's handler for TensorBoard named all of them; else nothing.

    The handler writes a file for each cycle of the profiler's schedule, so that several belong to one rank.
    """
    found: dict[str, list[tuple[int, Path]]] = {}
    for path in map(Path, paths):
        name = CYCLE.fullmatch(path.name)
        if name is None:
            return {}
        found.setdefault(name["worker"], []).append((int(name["written"]), path))
    return {worker: [path for _, path in sorted(files)] for worker, files in sorted(found.items())}
