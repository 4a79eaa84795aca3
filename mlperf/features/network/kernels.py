"""Columns and candidate terms of the kernels that a training step runs (SPRINT Tables 1 and 2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.schema import LIBRARY_KERNELS
from mlperf.features.network.layer_terms import library_columns
from mlperf.specs.kernels.kernels import KernelCall, kernel_calls
from mlperf.specs.kernels.layer_calls import library_calls
from mlperf.specs.network.cnn import CnnSpec

# A strided copy costs per row of channels, which access_bytes alone cannot show: the second and third terms are
# the number of such rows on the writing and the reading side, the fourth the number of map rows. The last lets a byte cost
# more when the step's data no longer fit a cache.
MEMORY_TERMS = (
    "access_bytes",
    "access_bytes / maps_out",
    "access_bytes / maps_in",
    "subbatch_size * row_size",
    "sqrt(access_bytes * subbatch_size)",
    "subbatch_size",
    "access_bytes * log2(step_bytes / 16777216)",
)
PAPER_MEMORY_TERMS = ("access_bytes",)

_COLUMNS = tuple(field.name for field in dataclasses.fields(KernelCall))


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a training step is divided into calls.

    Attributes
    ----------
    name : str
        For messages.
    calls : callable
        The calls of a network at a sub-batch size.
    columns : callable
        Characteristics of those calls in addition to the fields of `KernelCall`, one row each.
    """

    name: str
    calls: Callable[[CnnSpec, int], tuple[KernelCall, ...]]
    columns: Callable[[CnnSpec, Sequence[KernelCall]], pd.DataFrame]


EXPLICIT = Form("explicit kernels", kernel_calls, lambda _cnn, calls: pd.DataFrame(index=range(len(calls))))
LIBRARY = Form("library layers", library_calls, library_columns)


def form_of(kernels: Iterable[str]) -> Form:
    """The form that a backend's kernels belong to: their names tell, whatever the backend is called."""
    return LIBRARY if set(kernels) & set(LIBRARY_KERNELS) else EXPLICIT


def kernel_table(cnn: CnnSpec, subbatch_size: int, form: Form = EXPLICIT) -> pd.DataFrame:
    """Every kernel call of one training step, one row each in execution order.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    subbatch_size : int
        Samples a step, >= 1.
    form : Form
        How the step is divided into calls.

    Returns
    -------
    DataFrame, shape (n_calls, ...)
        The fields of `KernelCall`, those of the form, and ``cnn``; sizes are counts, ``access_bytes`` is in bytes.
        ``step_bytes`` are the bytes that the whole step moves: how far its data outgrow the caches decides what each byte costs.

    References
    ----------
    Oyama et al. (SPRINT), eq. 5 and Table 2.
    """
    return kernel_tables([(cnn, subbatch_size)], form).drop(columns="run")


def kernel_tables(runs: Iterable[tuple[CnnSpec, int]], form: Form = EXPLICIT) -> pd.DataFrame:
    """Stack the kernel tables of several (CNN, sub-batch) pairs, in the order given.

    Returns
    -------
    DataFrame
        As `kernel_table`, with ``run``, the position of the pair.
    """
    pairs = list(runs)
    steps = [form.calls(cnn, subbatch_size) for cnn, subbatch_size in pairs]
    calls = [call for step in steps for call in step]
    frame = pd.DataFrame({name: [getattr(call, name) for call in calls] for name in _COLUMNS})
    n_calls = [len(step) for step in steps]
    frame.insert(0, "cnn", np.repeat([cnn.name for cnn, _ in pairs], n_calls))
    further = [form.columns(cnn, step) for (cnn, _), step in zip(pairs, steps, strict=True)]
    step_bytes = [float(sum(call.moved_bytes for call in step)) for step in steps]
    return frame.join(pd.concat(further, ignore_index=True)).assign(
        step_bytes=np.repeat(step_bytes, n_calls), run=np.repeat(np.arange(len(pairs)), n_calls)
    )


def describe_rows(rows: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """Add to measured kernel rows the characteristics that their CNN's specification gives.

    Parameters
    ----------
    rows : DataFrame
        With ``cnn, subbatch_size, kernel, layer`` (any further columns are kept).
    cnns : mapping
        Specification by name; must hold every name in ``rows``.

    Returns
    -------
    DataFrame
        The columns of `kernel_table` in their order, then any further ones of ``rows``; the form is the kernels'.

    Raises
    ------
    DataError
        A row's network makes no such call; names the first.
    """
    form = form_of(rows["kernel"])
    pairs = rows[["cnn", "subbatch_size"]].drop_duplicates()
    described = kernel_tables(((cnns[name], int(size)) for name, size in pairs.itertuples(index=False)), form).drop(columns="run")
    keys = ["cnn", "subbatch_size", "kernel", "layer"]
    further = [name for name in rows.columns if name not in described.columns]
    joined = rows[[*keys, *further]].merge(described, on=keys, how="left", validate="many_to_one", indicator="found")
    _check_all_found(joined, form)
    return joined[[*described.columns, *further]]


def _check_all_found(joined: pd.DataFrame, form: Form) -> None:
    lost = joined[joined["found"] != "both"]
    if len(lost):
        first = lost.iloc[0]
        raise DataError(
            f"got kernel {first['kernel']!r} on layer {first['layer']!r}, expected a call that the network makes",
            place=f"CNN {first['cnn']!r}, {form.name}",
            hint="One backend runs explicit kernels or library layers, not both: give the other rows a backend name of their own.",
        )
