"""Which sweep of a table was counted."""

from __future__ import annotations

from mlperf.core.errors import DataError
from mlperf.studies.kernels.feature_sets import counter_columns
from mlperf.studies.kernels.tables.kernel_times import KernelTimes, Setting


def counted_sweep(times: KernelTimes, setting: Setting) -> Setting | None:
    """The first sweep whose runs were counted; None where there is none, or where it is the one given."""
    for one in times.settings:
        try:
            counter_columns(times.sweep(one))
        except DataError:
            continue
        return None if one == setting else one
    return None
