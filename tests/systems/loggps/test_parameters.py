"""Parameters that no network has are refused."""

from __future__ import annotations

import math

import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.loggps.parameters import LogGPS


@pytest.mark.parametrize("change", [{"latency_s": -1e-9}, {"overhead_s": math.nan}, {"gap_s": math.inf}, {"eager_limit_bytes": -1}])
def test_a_parameter_below_0_or_not_a_number_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(change))):
        LogGPS(1e-6, 1e-6).replace(**change)


def test_no_message_may_be_too_large_to_be_eager() -> None:
    assert LogGPS(0.0, 0.0, eager_limit_bytes=math.inf).eager_limit_bytes == math.inf
