"""Characteristics of the engine's kernels as tables to keep or to join."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_info

from mlperf.features.network.base import FeatureColumn, FeatureTable
from mlperf.features.network_engine.instructions import library_mix
from mlperf.features.network_engine.sets import STATIC_O, STATIC_S
from mlperf.training.characteristics.description import CALL_KEYS, description_of

MIX_COLUMNS = (
    FeatureColumn("symbol", "text", "symbol table", "function in the library"),
    FeatureColumn("source", "text", "file name", "library"),
    FeatureColumn("n_insn", "1", "x86-64 instructions", "instructions of the function"),
    FeatureColumn("n_inner", "1", "x86-64 instructions", "instructions of its innermost loops, in union"),
    FeatureColumn(
        "per_element",
        "1/element",
        "x86-64 instructions",
        "those loops' instructions for each element written; of a product: each FLOP",
    ),
)


def campaign_table(campaign: str | Path) -> FeatureTable:
    """SWC-S, and SWC-O where the campaign has an instruction mix, of every kernel call that a campaign timed."""
    from mlperf.datasets import read_campaign

    found = read_campaign(campaign)
    description = description_of(found)
    pairs = found.table("kernels")[["cnn", "subbatch_size"]].drop_duplicates()
    parts = [description.columns(found.cnns[str(name)], int(size)) for name, size in pairs.itertuples(index=False)]
    frame = pd.concat(parts, ignore_index=True)
    columns = tuple(column for column in (*STATIC_S, *STATIC_O) if column.name in frame)
    return FeatureTable("swc", frame[[*CALL_KEYS, *(column.name for column in columns)]], columns, {found.name: found.sha256})


def library_table() -> FeatureTable:
    """Instruction counts of the loops that the engine's kernels run in, in the NumPy and the OpenBLAS installed here."""
    cores = [str(found.get("architecture") or "") for found in threadpool_info() if found.get("internal_api") == "openblas"]
    core = next((name for name in cores if name), "HASWELL")
    mix = library_mix(core)
    return FeatureTable("swc-o", mix.frame, MIX_COLUMNS, {}, (f"OpenBLAS runs its kernels for {core}",))
