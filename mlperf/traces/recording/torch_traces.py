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
    profiler.export_chrome_trace(str(Path(folder) / f"trace-{os.getpid()}.json"))
