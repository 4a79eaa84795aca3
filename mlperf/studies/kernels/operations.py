"""Operations per clock cycle by pattern, build and size: the paper's figure 2."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.studies.kernels.tables.kernel_times import KernelTimes

COLUMNS = ("machine", "pattern_set", "build", "N", "pattern")


def operations_frame(times: KernelTimes) -> pd.DataFrame:
    """One row a kernel: executions of the innermost statement per second and per clock cycle.

    Cycles are counted ones where the table has them, else CPU seconds times the machine's clock, so that a changing clock goes into
    them; NaN where it is unknown.
    """
    clock = np.array([times.machines[str(name)].clock_hz for name in times.frame["machine"]], dtype=float)
    counted, rate = times.frame["cycles"].to_numpy(float), times.iterations / times.time_s
    cycles = np.where(np.isfinite(counted), counted, clock * times.time_s)
    return times.frame[list(COLUMNS)].assign(operations_per_s=rate, operations_per_cycle=times.iterations / cycles)
