"""What is made of counters: sums, bytes, rates and logarithms of ratios, each a row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.features.network.base import FeatureColumn

COUNT = "1"


@dataclass(frozen=True, slots=True)
class Sum:
    """A quantity that is the sum of others."""

    name: str
    parts: tuple[str, ...]
    doc: str


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quantity for each unit of another; its logarithm is a column, too."""

    name: str
    over: str
    under: str
    doc: str
    logarithm: bool = True


SUMS = (
    Sum("accesses", ("loads", "stores"), "data reads and writes"),
    Sum("l1_misses", ("l1_load_misses", "l1_store_misses"), "misses of the first data cache"),
    Sum("last_misses", ("last_load_misses", "last_store_misses"), "misses of the last cache"),
)

RATIOS = (
    Ratio("instructions_per_cycle", "instructions", "cycles", "instructions completed in a clock cycle"),
    Ratio("accesses_per_instruction", "accesses", "instructions", "data accesses of an instruction"),
    Ratio("stores_per_access", "stores", "accesses", "share of writes"),
    Ratio("l1_misses_per_access", "l1_misses", "accesses", "misses of the first cache for each access"),
    Ratio("l1_misses_per_instruction", "l1_misses", "instructions", "misses of the first cache for each instruction"),
    Ratio("last_misses_per_access", "last_misses", "accesses", "misses of the last cache for each access"),
    Ratio("last_misses_per_instruction", "last_misses", "instructions", "misses of the last cache for each instruction"),
    Ratio("branches_per_instruction", "branches", "instructions", "share of branches"),
    Ratio("branch_misses_per_branch", "branch_misses", "branches", "share of branches predicted wrongly"),
    Ratio("branch_misses_per_instruction", "branch_misses", "instructions", "wrong predictions for each instruction"),
    Ratio("tlb_load_misses_per_instruction", "tlb_load_misses", "instructions", "missing translations for each instruction"),
    Ratio("faults_per_instruction", "faults", "instructions", "page faults for each instruction", logarithm=False),
)

BYTES = {"l1_misses": "l1_bytes_moved", "last_misses": "last_bytes_moved"}
"""Misses that move a line each, and the column of the bytes."""

LOGARITHMS = ("instructions", "accesses", "l1_misses", "last_misses", "branches", "branch_misses")
RATES = ("instructions", "cycles", "accesses", "l1_misses", "last_misses", "branch_misses", "faults", "switches")
"""Quantities that are given for each second of processor time, where the run that counted them has one."""


@dataclass(frozen=True, slots=True, eq=False)
class DerivedColumn:
    """A column that was computed."""

    column: FeatureColumn
    values: FloatArray


def derive(
    quantities: Mapping[str, pd.Series[float]],
    prefix: str,
    source: str,
    line_bytes: pd.Series[float],
    cpu_s: pd.Series[float] | None,
) -> list[DerivedColumn]:
    """Every column that can be made of the quantities of one source.

    Parameters
    ----------
    quantities : mapping
        ``"instructions"``, ``"loads"``, ... to a number for each row.
    prefix : str
        Beginning of the columns' names, ``"cg_"``.
    source : str
        Who counted.
    line_bytes : Series
        Bytes that a miss moves, for each row.
    cpu_s : Series or None
        Processor time of the rows, seconds; None where there is none: no column for each second then.
    """
    known = dict(quantities)
    found = sums(known)
    made = [made_column(prefix, each.name, COUNT, source, each.doc, known[each.name]) for each in found]
    for misses, name in BYTES.items():
        if misses in known:
            made.append(made_column(prefix, name, "bytes", source, f"{misses} x line", known[misses] * line_bytes))
    made += ratio_columns(known, prefix, source)
    for name in LOGARITHMS:
        if name in known:
            made.append(made_column(prefix, f"log_{name}", COUNT, source, f"log(1 + {name})", np.log1p(known[name])))
    if cpu_s is not None and (cpu_s > 0).all():
        for name in RATES:
            if name in known:
                doc = f"{name} in a second of processor time"
                made.append(made_column(prefix, f"{name}_per_s", "1/s", source, doc, known[name] / cpu_s))
    return made


def sums(known: dict[str, pd.Series[float]]) -> Sequence[Sum]:
    """Add the sums to the quantities; a part that was not counted is named in the meaning of the column."""
    found = []
    for each in SUMS:
        parts = [name for name in each.parts if name in known]
        if parts:
            known[each.name] = sum((known[name] for name in parts[1:]), start=known[parts[0]])
            missing = [name for name in each.parts if name not in known]
            found.append(Sum(each.name, each.parts, each.doc + (f"; without {', '.join(missing)}" if missing else "")))
    return found


def ratio_columns(known: Mapping[str, pd.Series[float]], prefix: str, source: str) -> list[DerivedColumn]:
    """Ratios whose lower part is never zero, and their logarithms with one added to both parts: no miss has one, too."""
    made = []
    for each in RATIOS:
        if each.over in known and each.under in known and (known[each.under] > 0).all():
            over, under = known[each.over], known[each.under]
            made.append(made_column(prefix, each.name, COUNT, source, each.doc, over / under))
            if each.logarithm:
                doc = f"log((1 + {each.over}) / (1 + {each.under}))"
                made.append(made_column(prefix, f"log_{each.name}", COUNT, source, doc, np.log1p(over) - np.log1p(under)))
    return made


def made_column(prefix: str, name: str, unit: str, source: str, doc: str, values: Any) -> DerivedColumn:
    """Compute one derived column."""
    return DerivedColumn(FeatureColumn(prefix + name, unit, f"computed from {source}", doc), np.asarray(values, dtype=np.float64))
