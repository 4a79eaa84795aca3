"""DWC-B: features of finished runs, from their counters."""

from __future__ import annotations

from mlperf.features.counters.read import dwc_b
from mlperf.features.counters.table import LINEAR_COUNTERS, counter_features

__all__ = ["LINEAR_COUNTERS", "counter_features", "dwc_b"]
