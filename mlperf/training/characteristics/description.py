"""What a machine's caches and libraries are, and the columns that follow for kernel calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.progress import tracked
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.features.network_engine import DYNAMIC_COLUMNS, caches_of, engine_columns
from mlperf.features.network_engine.instructions import InstructionMix
from mlperf.features.network_engine.products import Blocking, blocking_of
from mlperf.features.network_engine.subbatches import columns_between
from mlperf.features.source.caches import CacheLevel

if TYPE_CHECKING:
    from mlperf.datasets import Campaign
    from mlperf.specs.network.cnn import CnnSpec

FOLDER = "characteristics"
MIX_FILE, COUNTER_FILES = "instructions.csv", ("kernel_counters.csv", "kernel_counters.csv.gz")
CALL_KEYS = ["cnn", "subbatch_size", "kernel", "layer"]


@dataclass(frozen=True, slots=True, eq=False)
class EngineDescription:
    """Caches and libraries of the machine on which the engine ran.

    Attributes
    ----------
    caches : tuple of CacheLevel
        Of the machine.
    blocking : Blocking
        Of its matrix product.
    mix : InstructionMix or None
        Instructions of its compiled loops, where they were read.
    """

    caches: tuple[CacheLevel, ...]
    blocking: Blocking
    mix: InstructionMix | None

    def columns(self, cnn: CnnSpec, subbatch_size: int) -> pd.DataFrame:
        """Static characteristics of every kernel call of one step (see `mlperf.features.network_engine.engine_columns`)."""
        return engine_columns(cnn, subbatch_size, self.caches, self.mix, self.blocking)

    def columns_at(self, cnn: CnnSpec, subbatch_sizes: Sequence[int]) -> pd.DataFrame:
        """The same for several sub-batches; those between knots (`knots_around`) lie on straight lines."""
        return columns_between(lambda size: self.columns(cnn, size), subbatch_sizes)


def description_of(campaign: Campaign, *, instructions: bool = True) -> EngineDescription:
    """Caches and libraries that ``host.json`` names, and with ``instructions`` the mix of them stored with the tables."""
    path = campaign.path / FOLDER / MIX_FILE
    mix = InstructionMix(read_any_table(path, duplicates="keep")) if instructions and path.is_file() else None
    blas = str(campaign.told("versions").get("blas", ""))
    return EngineDescription(caches_of({"cache_bytes": campaign.cache_bytes}), blocking_of(blas), mix)


def describe_calls(calls: pd.DataFrame, cnns: Mapping[str, CnnSpec], description: EngineDescription) -> pd.DataFrame:
    """Add the static characteristics to kernel calls.

    Parameters
    ----------
    calls : DataFrame
        With ``cnn, subbatch_size, kernel, layer``, explicit kernels of the NumPy engine.
    cnns : mapping
        Specification by name.
    description : EngineDescription
        Of the machine.

    Raises
    ------
    DataError
        A call that the engine does not make.
    """
    pairs = calls[["cnn", "subbatch_size"]].drop_duplicates()
    sizes = tracked(list(pairs.groupby("cnn", sort=False)["subbatch_size"]), "networks described")
    parts = [
        description.columns_at(cnns[str(name)], own.astype(int).tolist())
        for name, own in tracked(list(sizes), "networks described")
    ]
    return joined_columns(calls, pd.concat(parts, ignore_index=True), "the engine's own list of kernels")


def joined_columns(calls: pd.DataFrame, columns: pd.DataFrame, source: str) -> pd.DataFrame:
    """Calls with further columns, one row a (cnn, subbatch_size, kernel, layer).

    Raises
    ------
    DataError
        A call has no such row; names the first.
    """
    found = calls.merge(columns, on=CALL_KEYS, how="left", validate="many_to_one", indicator="found")
    lost = found[found["found"] != "both"]
    if len(lost):
        row = lost.iloc[0]
        raise DataError(
            f"got no row for kernel {row['kernel']!r} of layer {row['layer']!r} at {row['subbatch_size']} samples",
            place=f"{source}, CNN {row['cnn']!r}",
            hint="Count the same networks and sub-batch sizes by the same backend.",
        )
    return found.drop(columns="found")


def counters_path(folder: Path) -> Path | None:
    """The table of counters next to a campaign's tables, where there is one."""
    return next((folder / FOLDER / name for name in COUNTER_FILES if (folder / FOLDER / name).is_file()), None)


def campaign_counters(campaign: Campaign, backend: str, path: Path | None = None) -> pd.DataFrame:
    """Counters of the kernel calls that a backend made in the campaign.

    Raises
    ------
    DataError
        There is no such table, or it holds other backends only.
    """
    found = path or counters_path(campaign.path)
    if found is None:
        raise DataError(
            "got no table of kernel counters",
            place=str(campaign.path / FOLDER / COUNTER_FILES[0]),
            hint="Count them on the machine of the campaign: mlperf collect kernel-counters CAMPAIGN -o counters.csv.",
        )
    return counters_of(read_any_table(found, duplicates="keep"), backend, str(found))


def counters_of(table: pd.DataFrame, backend: str, place: str) -> pd.DataFrame:
    """Keys and counters of a backend's kernel calls; a table without a column ``backend`` is of one.

    Raises
    ------
    DataError
        The table holds other backends only.
    """
    held = table["backend"].unique() if "backend" in table else [backend]
    if backend not in held:
        raise DataError(
            f"got rows of {', '.join(map(str, held))}, expected rows of {backend}",
            place=f"{place}, column backend",
            hint=f"Count them: mlperf collect kernel-counters CAMPAIGN --backend {backend} -o counters.csv.",
        )
    own = table[table["backend"] == backend] if "backend" in table else table
    return own[[*CALL_KEYS, *(name for name in DYNAMIC_COLUMNS if name in own)]]
