"""Workload characteristics of the NumPy engine's kernels: loop nests, cache model of a step, instruction mix."""

from __future__ import annotations

from mlperf.features.engine.describe import engine_columns
from mlperf.features.engine.host_caches import caches_of
from mlperf.features.engine.passes import KernelNest, Pass, Stage
from mlperf.features.engine.sets import DYNAMIC_COLUMNS, SETS, CharacteristicSet

__all__ = ["DYNAMIC_COLUMNS", "SETS", "CharacteristicSet", "KernelNest", "Pass", "Stage", "caches_of", "engine_columns"]
