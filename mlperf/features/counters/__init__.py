"""DWC-B: features of finished runs, from their counters."""

from __future__ import annotations

from mlperf.features.counters.table import LINEAR_COUNTERS, counter_features, dwc_b

__all__ = ["LINEAR_COUNTERS", "counter_features", "dwc_b"]
