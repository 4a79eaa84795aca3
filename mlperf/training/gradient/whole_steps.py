"""Whether the kernels of every training step were measured: the time of a step is their sum."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError
from mlperf.features.network.kernels import form_of

if TYPE_CHECKING:
    from mlperf.specs.network.cnn import CnnSpec

STEP = ["cnn", "subbatch_size"]
CALL = ["cnn", "kernel", "layer"]
BIAS, SOFTMAX = "activation", "softmax"
MOST_NAMED = 8


def check_whole_steps(kernels: pd.DataFrame, cnns: Mapping[str, CnnSpec], path: Path, backend: str) -> None:
    """Check that every step of which some kernel was measured has a row of each kernel that it runs.

    Parameters
    ----------
    kernels : DataFrame
        Rows of ``kernels.csv`` of one backend.
    cnns : mapping of str to CnnSpec
        Specification of every network in it.
    path : Path
        The campaign's folder.
    backend : str
        The backend, for the message.

    Raises
    ------
    DataError
        Names the missing rows by network, layer, kernel and sub-batch, and the command that measures them.
    """
    lost = missing_calls(kernels, cnns)
    if lost.empty:
        return
    groups = lost.groupby(CALL, sort=False)["subbatch_size"].agg(lambda sizes: ", ".join(map(str, sizes))).reset_index()
    named = "; ".join(
        f"cnn {cnn}, layer {layer}, kernel {kernel}, sub-batch {sizes}"
        for cnn, kernel, layer, sizes in groups.head(MOST_NAMED).itertuples(index=False, name=None)
    )
    more = f"; and {len(groups) - MOST_NAMED} more kernels" if len(groups) > MOST_NAMED else ""
    rows = "1 row is" if len(lost) == 1 else f"{len(lost):,} rows are"
    raise DataError(
        f"{rows} missing: {named}{more}",
        place=f"{path}/kernels.csv, backend {backend}",
        hint="The time of a step is the sum of its kernels. Add the rows (mlperf data template kernels shows the columns, "
        "mlperf collect kernels steps measures all), or leave the network out (--leave-out).",
    )


def missing_calls(kernels: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """Calls without a row, in the order of execution: ``cnn, subbatch_size, kernel, layer``."""
    form = form_of(kernels["kernel"])
    measured = set(kernels[[*STEP, "kernel", "layer"]].drop_duplicates().itertuples(index=False, name=None))
    wanted = (
        (name, size, call.kernel, call.layer)
        for name, size in kernels[STEP].drop_duplicates().itertuples(index=False, name=None)
        for call in form.calls(cnns[name], size)
    )
    lost = pd.DataFrame([call for call in wanted if call not in measured], columns=[*STEP, "kernel", "layer"])
    return lost[~in_softmax(lost, kernels, cnns)]


def in_softmax(lost: pd.DataFrame, kernels: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> BoolArray:
    """Which missing calls add the bias of the last layer, where no network's does so by itself: its softmax adds it then."""

    def on_last(calls: pd.DataFrame) -> BoolArray:
        last = calls["cnn"].map({name: cnn.layers[-1].name for name, cnn in cnns.items()})
        return ((calls["kernel"] == BIAS) & (calls["layer"] == last)).to_numpy(bool)

    told = (kernels["kernel"] == SOFTMAX).any() and not on_last(kernels).any()
    return on_last(lost) & told
