"""Feature sets of contraction kernels by name: what a model sees under SWC-S, SWC-O and DWC-B."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.suggest import known_word
from mlperf.features.code.processors.x86_classes import x86_class
from mlperf.features.counters import LINEAR_COUNTERS
from mlperf.features.source.caches import CacheLevel
from mlperf.features.source.read import pattern_nest
from mlperf.features.source.roles import ROLES, role_cells
from mlperf.features.source.strides import nest_addresses
from mlperf.studies.kernels.tables.kernel_times import KernelTimes, Setting

STEM = "in_"
WIDE, NARROW = 8, 4
"""Single-precision lanes of packed arithmetic in VEX and in SSE code, where the table does not hold ``lanes_inner``."""
SCALAR_MOVE = re.compile(r"v?movs[sd]")
MULTIPLIES = ("packed_multiply", "packed_fma", "scalar_multiply", "scalar_fma")


def instruction_mix(counts: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Instructions of the innermost loops by class, per multiplication done.

    Parameters
    ----------
    counts : DataFrame, shape (n_rows, n_mnemonics)
        ``in_<mnemonic>`` of the innermost loops.
    frame : DataFrame, shape (n_rows, ...)
        The rows, for ``lanes_inner`` and ``mem_loads_inner`` where they hold them.

    Returns
    -------
    DataFrame, shape (n_rows, n_columns)
        ``mix_<class>`` for each class that occurs, ``mix_all``, ``mix_memory``, and ``lanes``.
    """
    kinds = {name: mix_class(name.removeprefix(STEM)) for name in map(str, counts.columns)}
    lanes = estimated_lanes(counts, kinds)
    if "lanes_inner" in frame:
        # Of several tables joined, some may hold lanes and some not.
        told = frame["lanes_inner"].to_numpy(float)
        lanes = np.where(np.isfinite(told), told, lanes)
    each = np.where(lanes > 0, lanes, 1.0)
    columns = {
        f"mix_{kind}": counts[[name for name, own in kinds.items() if own == kind]].sum(axis=1).to_numpy(float) / each
        for kind in dict.fromkeys(kinds.values())
    }
    columns["mix_all"] = counts.sum(axis=1).to_numpy(float) / each
    if "mem_loads_inner" in frame:
        columns["mix_memory"] = frame["mem_loads_inner"].to_numpy(float) / each
    return pd.DataFrame(columns | {"lanes": lanes}, index=counts.index)


def mix_class(mnemonic: str) -> str:
    """Class of a mnemonic; moves of one element apart from moves of a vector."""
    if SCALAR_MOVE.fullmatch(mnemonic):
        return "scalar_move"
    return x86_class(mnemonic, 0, 0)


def estimated_lanes(counts: pd.DataFrame, kinds: Mapping[str, str]) -> FloatArray:
    """Multiplications of one pass through the loops, from mnemonics alone."""
    lanes = np.zeros(len(counts))
    for name, kind in kinds.items():
        if kind in MULTIPLIES:
            width = 1 if kind.startswith("scalar") else WIDE if name.startswith(f"{STEM}v") else NARROW
            lanes += width * counts[name].to_numpy(float)
    return lanes


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """One set of columns.

    Attributes
    ----------
    name, kind : str
        ``"swc-s"``; which of the paper's kinds it is.
    doc : str
        What it holds.
    make : callable
        ``make(times)`` returns its columns, shape (n_rows, n_columns), in the order of the rows.
    is_static : bool
        Known before the kernel runs.
    """

    name: str
    kind: str
    doc: str
    make: Callable[[KernelTimes], pd.DataFrame]
    is_static: bool = True


def kernel_features(times: KernelTimes, name: str) -> pd.DataFrame:
    """Columns of a feature set for every row, shape (n_rows, n_columns).

    Raises
    ------
    UsageError
        No such set.
    DataError
        The table lacks what it needs: counts, counters.
    """
    return FEATURE_SETS[known_word(name, FEATURE_SETS, "feature set")].make(times).reset_index(drop=True)


def available_sets(times: KernelTimes) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """Every feature set that the table allows, constant columns left out, and why others are absent."""
    found, absent = {}, []
    for name in FEATURE_SETS:
        try:
            columns = varying(kernel_features(times, name))
        except DataError as error:
            absent.append(f"{name}: absent, {error.message}")
            continue
        if columns.shape[1]:
            found[name] = columns
        else:
            absent.append(f"{name}: absent, equal for all rows")
    return found, tuple(absent)


def varying(columns: pd.DataFrame) -> pd.DataFrame:
    """Columns that differ between rows."""
    return columns.loc[:, columns.nunique() > 1]


@lru_cache(maxsize=16_384)
def pattern_cells(pattern: str, size: int, caches: tuple[CacheLevel, ...]) -> Mapping[str, float]:
    """SWC-S of one contraction at one size: kinds of stride and misses by the role of the arrays."""
    addresses = nest_addresses(pattern_nest(pattern), {"N": size})
    return MappingProxyType({column.name: value for column, value in role_cells(addresses, caches)})


def nest_columns(times: KernelTimes) -> pd.DataFrame:
    """Every SWC-S column of every row, caches as those of the row's machine."""
    machines = {name: facts.caches for name, facts in times.machines.items()}
    keys = zip(times.frame["pattern"], times.frame["N"], times.frame["machine"], strict=True)
    rows = [pattern_cells(str(pattern), int(size), machines[str(machine)]) for pattern, size, machine in keys]
    return pd.DataFrame(rows).fillna(0.0)


def cache_columns(times: KernelTimes) -> pd.DataFrame:
    """Columns of predicted misses, without kinds of stride."""
    every = nest_columns(times)
    return every[[name for name in every if not str(name).startswith(ROLES)]]


def total_columns(times: KernelTimes) -> pd.DataFrame:
    """Counts of the whole function, in the table's order."""
    return counted(times, "cnt_")


def inner_columns(times: KernelTimes) -> pd.DataFrame:
    """Instructions of the innermost loops, per multiplication."""
    return instruction_mix(counted(times, "in_"), times.frame)


def counted(times: KernelTimes, stem: str) -> pd.DataFrame:
    """Counts whose names begin with ``stem``.

    Raises
    ------
    DataError
        The table has none.
    """
    names = times.count_columns(stem)
    if not names:
        raise DataError(
            f"no columns {stem}*", place=times.name, hint="mlperf features swc-o counts instructions of .s, objdump or ELF files."
        )
    return times.frame[names].astype(float)


def static_columns(times: KernelTimes) -> pd.DataFrame:
    """SWC-S and the innermost loops' instructions."""
    return pd.concat([nest_columns(times), inner_columns(times)], axis=1)


def _counter_columns(times: KernelTimes) -> pd.DataFrame:
    """Counters of a simulated run, per execution of the innermost statement."""
    if times.counters is None:
        hint = "mlperf collect contraction --cachegrind writes them."
        raise DataError("no counters beside the table", place=times.name, hint=hint)
    keys = [name for name in ("build", "N", "offset_bytes", "pattern") if name in times.counters and name in times.frame]
    names = [name for name in LINEAR_COUNTERS if name in times.counters]
    known = times.counters.drop_duplicates(keys)[[*keys, *names]]
    joined = times.frame[keys].merge(known, on=keys, how="left", validate="many_to_one")
    if not names or joined[names].isna().any(axis=None):
        raise DataError("no counters of these rows", place=times.name)
    return joined[names].astype(float).div(times.iterations, axis=0)


FEATURE_SETS: Mapping[str, FeatureSet] = MappingProxyType(
    {
        one.name: one
        for one in (
            FeatureSet("swc-o totals", "SWC-O", "static counts of the whole function: the paper's", total_columns),
            FeatureSet("swc-o inner", "SWC-O", "instructions of the innermost loops", inner_columns),
            FeatureSet("cache model", "SWC-S", "predicted misses by role and stride", cache_columns),
            FeatureSet("swc-s", "SWC-S", "kinds of stride along every loop, predicted misses", nest_columns),
            FeatureSet("swc-s + swc-o", "SWC-S and SWC-O", "swc-s with the innermost loops", static_columns),
            FeatureSet("dwc-b", "DWC-B", "counters of a finished (simulated) run", _counter_columns, is_static=False),
        )
    }
)


def counted_sweep(times: KernelTimes, setting: Setting) -> Setting | None:
    """The first sweep whose runs were counted; None where there is none, or where it is the one given."""
    for one in times.settings:
        try:
            _counter_columns(times.sweep(one))
        except DataError:
            continue
        return None if one == setting else one
    return None
