"""The table of rungs."""

from __future__ import annotations

from collections.abc import Mapping

from mlperf.systems.ladder.batches import BATCH_RUNGS
from mlperf.systems.ladder.collinear import COLLINEAR_RUNGS
from mlperf.systems.ladder.coverage import COVERAGE_RUNGS
from mlperf.systems.ladder.layers import LAYERS
from mlperf.systems.ladder.networks import NETWORK_RUNGS
from mlperf.systems.ladder.products import PRODUCTS
from mlperf.systems.ladder.rung import Rung
from mlperf.systems.ladder.tuning import TUNING
from mlperf.systems.ladder.vectors import VECTORS
from mlperf.systems.ladder.whole_networks import WHOLE_RUNGS


def _order(name: str) -> tuple[str, int]:
    return name[0], int(name[1:])


_ALL = (*PRODUCTS, *VECTORS, *LAYERS, *TUNING, *NETWORK_RUNGS, *BATCH_RUNGS, *WHOLE_RUNGS, *COLLINEAR_RUNGS, *COVERAGE_RUNGS)
RUNGS: Mapping[str, Rung] = {rung.name: rung for rung in sorted(_ALL, key=lambda rung: _order(rung.name))}


def rung_names() -> tuple[str, ...]:
    """Names of the rungs, in order."""
    return tuple(RUNGS)
