"""Workload characteristics of the NumPy engine's kernels: loop nests, cache model of a step, instruction mix."""

from __future__ import annotations

from mlperf.features.network_engine.describe import caches_of, engine_columns
from mlperf.features.network_engine.passes import KernelNest, Pass, Stage
from mlperf.features.network_engine.sets import DYNAMIC_COLUMNS, SETS, CharacteristicSet

__all__ = ["DYNAMIC_COLUMNS", "SETS", "CharacteristicSet", "KernelNest", "Pass", "Stage", "caches_of", "engine_columns"]
