"""Whether the tables of a campaign and its specifications speak of the same networks, layers and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.dictionary.schema import LIBRARY_KERNELS
from mlperf.datasets.reading.read import ReadTable
from mlperf.specs.kernels.kernels import KernelCall, kernel_calls
from mlperf.specs.kernels.layer_calls import library_calls

if TYPE_CHECKING:
    from mlperf.specs.network.cnn import CnnSpec

SIZES = ("m", "n", "k", "trans", "access_bytes")
IDENTITY = ("backend", "cnn", "subbatch_size", "kernel", "layer", *SIZES)


class KernelRow(NamedTuple):
    """One distinct row of kernels.csv; ``at`` is its first row in the file, counted from 0."""

    at: int
    backend: str
    cnn: str
    subbatch_size: int
    kernel: str
    layer: str
    m: int
    n: int
    k: int
    trans: str
    access_bytes: int

    @property
    def does_nothing(self) -> bool:
        """Whether the row says that the kernel does not run."""
        return self.m * self.n * self.k == 0 and self.access_bytes == 0


def check_cnns(table: ReadTable, cnns: Mapping[str, CnnSpec]) -> None:
    """Check that every network of a table has its specification.

    Raises
    ------
    DataError
        Names file, line and network of the first row without.
    """
    if "cnn" not in table.frame:
        return
    unknown = table.frame.index[~table.frame["cnn"].isin(list(cnns))]
    if len(unknown):
        name = str(table.frame.at[unknown[0], "cnn"])
        folder = table.grid.source.path.parent / "cnns"
        hint = f"Write {folder / name}.toml. {did_you_mean(name, cnns)}".rstrip()
        raise table.grid.error(int(unknown[0]), "cnn", "a network with a specification in cnns/", hint)


def check_kernels(table: ReadTable, cnns: Mapping[str, CnnSpec]) -> None:
    """Check that every row of kernels.csv is a call that its network makes, with the sizes that follow from its layers.

    Rows of a backend that runs library layers are held to the calls of that form; whole layers themselves, whose sizes a
    library does not tell, need their layer alone.

    Raises
    ------
    DataError
        Names file, line, column and value: a layer or kernel the network does not have, or a size that is not the layer's.
    """
    distinct = table.frame[list(IDENTITY)].drop_duplicates()

    in_library = set(distinct.loc[distinct["kernel"].isin(LIBRARY_KERNELS), "backend"])

    @cache
    def calls(cnn: str, subbatch_size: int, *, library: bool) -> dict[tuple[str, str], KernelCall]:
        form = library_calls if library else kernel_calls
        return {(call.kernel, call.layer): call for call in form(cnns[cnn], subbatch_size)}

    @cache
    def layers(cnn: str) -> frozenset[str]:
        return frozenset(layer.name for layer in cnns[cnn].layers)

    for row in map(KernelRow._make, distinct.itertuples(name=None)):
        if row.layer not in layers(row.cnn):
            raise table.grid.error(row.at, "layer", f"a layer of {row.cnn}", did_you_mean(row.layer, layers(row.cnn)))
        if row.kernel in LIBRARY_KERNELS:
            continue
        call = calls(row.cnn, row.subbatch_size, library=row.backend in in_library).get((row.kernel, row.layer))
        if call is None:
            check_absent(table, row)
        else:
            check_sizes(table, row, call)


def check_absent(table: ReadTable, row: KernelRow) -> None:
    """A kernel that the layer does not run may stand in the table with no work and no time."""
    times = table.frame.loc[row.at, ["cpu_s", "wall_s"]]
    if not row.does_nothing or (times > 0).any():
        hint = f"cnns/{row.cnn}.toml gives layer {row.layer} no such kernel: remove the row, or correct the specification."
        raise table.grid.error(row.at, "kernel", f"a kernel that {row.cnn} runs on layer {row.layer}", hint)


def check_sizes(table: ReadTable, row: KernelRow, call: KernelCall) -> None:
    """The sizes of a row against those that follow from the specification."""
    for name in SIZES:
        wanted = getattr(call, name)
        if getattr(row, name) != wanted:
            raise size_error(table, row, name, wanted)


def size_error(table: ReadTable, row: KernelRow, column: str, wanted: object) -> DataError:
    """The error for a size that is not the layer's."""
    of = f"{row.kernel} of layer {row.layer}, {row.cnn}, sub-batch {row.subbatch_size}"
    hint = f"kernels.csv and cnns/{row.cnn}.toml disagree: one of the two belongs to another network."
    return table.grid.error(row.at, column, f"{wanted} ({of})", hint)
