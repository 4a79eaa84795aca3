"""Traces of training jobs: which rank is late, what it costs, and what would bring how much."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__, {})
