"""What `mlperf.collect.contraction` imports on first use, as type checkers see it."""

from mlperf.collect.contraction.builds import Build, parse_build
from mlperf.collect.contraction.cachegrind import CacheSimulation
from mlperf.collect.contraction.request import ContractionRequest
from mlperf.collect.contraction.run import collect_contractions
from mlperf.collect.contraction.sources import kernel_source
from mlperf.collect.contraction.summary import CollectedContractions

__all__ = [
    "Build",
    "CacheSimulation",
    "CollectedContractions",
    "ContractionRequest",
    "collect_contractions",
    "kernel_source",
    "parse_build",
]
