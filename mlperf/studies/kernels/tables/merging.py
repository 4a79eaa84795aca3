"""Several tables as one: the sweep of another machine together with one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.studies.kernels.tables.kernel_times import SETTING, KernelTimes
from mlperf.studies.kernels.tables.reading import read_kernel_times


def read_all_kernels(sources: Sequence[Path | str], *, timed: bool = True) -> KernelTimes:
    """Read several tables into one.

    Parameters
    ----------
    sources : sequence of path or str
        Each as `read_kernel_times`.
    timed : bool
        As there.

    Returns
    -------
    KernelTimes
        Rows in the order given; a count that a table does not have is 0 there, because its kernels do not use the instruction.

    Raises
    ------
    DataError
        No source; or two tables hold the same kernel of the same sweep.
    """
    if not sources:
        raise DataError("got no table of kernels, expected at least one")
    found = [read_kernel_times(source, timed=timed) for source in sources]
    if len(found) == 1:
        return found[0]
    frame = pd.concat([one.frame for one in found], ignore_index=True)
    counts = [name for name in frame.columns if str(name).startswith(("cnt_", "in_"))]
    frame[counts] = frame[counts].fillna(0.0)
    repeated = frame.duplicated([*SETTING, "pattern"])
    if repeated.any():
        row = frame[repeated].iloc[0]
        raise DataError(
            f"got {row['pattern']} of {row['build']}, N = {row['N']} on {row['machine']} twice, expected each kernel once",
            place=", ".join(map(str, sources)),
            hint="Leave one table out.",
        )
    counters = [one.counters for one in found if one.counters is not None]
    return KernelTimes(
        " and ".join(one.name for one in found),
        frame,
        {name: facts for one in found for name, facts in one.machines.items()},
        pd.concat(counters, ignore_index=True) if counters else None,
        {name: digest for one in found for name, digest in one.data_sha256.items()},
        tuple(note for one in found for note in one.notes),
    )
