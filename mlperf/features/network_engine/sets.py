"""Sets of characteristics of the engine's kernels: their columns and the candidate terms that they offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.features.network.base import FeatureColumn

MODEL = "cache model of the loop nests of a training step"
MIX = "innermost loops of NumPy and of the BLAS micro-kernel, times executions"
RUN = "hardware and kernel counters of a short run"

STATIC_S = (
    FeatureColumn("misses_l1", "lines", MODEL, "lines fetched into the first-level cache"),
    FeatureColumn("misses_l2", "lines", MODEL, "lines fetched into the second-level cache"),
    FeatureColumn("misses_l3", "lines", MODEL, "lines fetched from memory"),
    FeatureColumn("misses_tlb", "pages", MODEL, "pages looked up beyond the translation buffers"),
    FeatureColumn("inner_runs", "1", "loop nests of the passes", "calls of compiled inner loops, neighbouring loops joined"),
    FeatureColumn("n_passes", "1", "loop nests of the passes", "calls of NumPy functions"),
)
STATIC_O = (
    FeatureColumn("loop_instructions", "1", MIX, "instructions of innermost loops"),
    FeatureColumn("entry_instructions", "1", MIX, "instructions around innermost loops"),
    FeatureColumn("tile_instructions", "1", MIX, "instructions of the product's micro-kernel, padded tiles included"),
)
DYNAMIC = (
    FeatureColumn("hw_instructions", "1", RUN, "instructions executed"),
    FeatureColumn("hw_l1d_load_misses", "1", RUN, "loads that missed the first-level data cache"),
    FeatureColumn("hw_cache_misses", "1", RUN, "misses of the processor's event cache-misses"),
    FeatureColumn("hw_dtlb_load_misses", "1", RUN, "loads that missed the data translation buffer"),
    FeatureColumn("hw_branch_misses", "1", RUN, "branches predicted wrongly"),
    FeatureColumn("sw_page_faults", "1", RUN, "page faults"),
)


@dataclass(frozen=True, slots=True)
class CharacteristicSet:
    """One kind of characteristics.

    Attributes
    ----------
    name : str
        ``"swc-s"``, ``"swc-o"`` or ``"dwc-b"``.
    columns : tuple of FeatureColumn
        Unit and source of each.
    memory_terms, gemm_terms : tuple of str
        Candidates for memory-bound kernels and for products.
    dynamic : bool
        Whether the columns come from a run.
    """

    name: str
    columns: tuple[FeatureColumn, ...]
    memory_terms: tuple[str, ...]
    gemm_terms: tuple[str, ...]
    dynamic: bool = False


def _names(columns: tuple[FeatureColumn, ...]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


SETS: Mapping[str, CharacteristicSet] = {
    "swc-s": CharacteristicSet("swc-s", STATIC_S, _names(STATIC_S), _names(STATIC_S)[:4]),
    "swc-o": CharacteristicSet("swc-o", STATIC_O, _names(STATIC_O)[:2], _names(STATIC_O)[2:]),
    "dwc-b": CharacteristicSet("dwc-b", DYNAMIC, _names(DYNAMIC), _names(DYNAMIC), dynamic=True),
}
DYNAMIC_COLUMNS = _names(DYNAMIC)
