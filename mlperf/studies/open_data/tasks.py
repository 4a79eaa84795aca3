"""The table of rungs."""

from __future__ import annotations

from collections.abc import Mapping

from mlperf.studies.open_data.batches import BATCH_RUNGS
from mlperf.studies.open_data.collinear import COLLINEAR_RUNGS
from mlperf.studies.open_data.coverage import COVERAGE_RUNGS
from mlperf.studies.open_data.layers import LAYERS
from mlperf.studies.open_data.networks import NETWORK_RUNGS
from mlperf.studies.open_data.products import PRODUCTS
from mlperf.studies.open_data.task import Rung
from mlperf.studies.open_data.tuning import TUNING
from mlperf.studies.open_data.vectors import VECTORS
from mlperf.studies.open_data.whole_networks import WHOLE_RUNGS


def _order(name: str) -> tuple[str, int]:
    return name[0], int(name[1:])


_ALL = (*PRODUCTS, *VECTORS, *LAYERS, *TUNING, *NETWORK_RUNGS, *BATCH_RUNGS, *WHOLE_RUNGS, *COLLINEAR_RUNGS, *COVERAGE_RUNGS)
RUNGS: Mapping[str, Rung] = {rung.name: rung for rung in sorted(_ALL, key=lambda rung: _order(rung.name))}


def rung_names() -> tuple[str, ...]:
    """Names of the rungs, in order."""
    return tuple(RUNGS)
