"""PyTorch's profiler around a part of a program, its trace put where the recorder reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "MLPERF_TORCH_TRACES"
"""Folder of the traces; set by ``mlperf record``."""


@contextmanager
def torch_profile(**options: Any) -> Iterator[Any]:
    """Profile what is inside by ``torch.profiler.profile``; does nothing where ``mlperf record`` does not run.

    Parameters
    ----------
    **options
        Of ``torch.profiler.profile``.

    Yields
    ------
    profiler or None
        Its ``step()`` marks steps; None where nothing is recorded.

    Examples
    --------
    >>> with torch_profile() as profiler:
    ...     assert profiler is None
    """
    folder = os.environ.get(VARIABLE, "")
    if not folder or not Path(folder).is_dir():
        yield None
        return
    from torch.profiler import profile

    with profile(**options) as profiler:
        yield profiler
    profiler.export_chrome_trace(str(_free_file(Path(folder))))


def _free_file(folder: Path) -> Path:
    """A file for this part of this process; a program may profile several parts."""
    own, number = f"trace-{os.getpid()}", 1
    path = folder / f"{own}.json"
    while path.exists():
        number += 1
        path = folder / f"{own}-{number}.json"
    return path
