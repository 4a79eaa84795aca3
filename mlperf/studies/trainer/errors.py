"""Predicted beside measured settings, and what the errors are together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mlperf.datasets.campaigns.trainer_runs import SETTING, repeat_differences
from mlperf.systems.sprint.outputs import OUTPUTS


def beside(settings: pd.DataFrame, found: pd.DataFrame, names: Sequence[str] = OUTPUTS) -> pd.DataFrame:
    """One row a (form, setting, quantity): measured mean over repeats, predicted, relative error.

    Parameters
    ----------
    settings : DataFrame
        Measured settings; row i is configuration ``number`` i of ``found``.
    found : DataFrame
        Of `mlperf.studies.trainer.forms.predicted`.
    names : sequence of str
        Quantities.
    """
    keys = settings[[*SETTING, "qualifies"]].reset_index(drop=True)
    parts = []
    for name in names:
        measured = settings[name].to_numpy(float)[found["number"]]
        parts.append(
            keys.iloc[found["number"]]
            .reset_index(drop=True)
            .assign(form=found["form"].to_numpy(), quantity=name, measured=measured, predicted=found[name].to_numpy(float))
        )
    table = pd.concat(parts, ignore_index=True)
    return table.assign(relative_error=table["predicted"] / table["measured"] - 1.0)


def with_noise(table: pd.DataFrame, runs: pd.DataFrame, names: Sequence[str] = OUTPUTS) -> pd.DataFrame:
    """Add ``repeat_difference`` of each setting and quantity, a fraction."""
    noise = repeat_differences(runs, names).melt(SETTING, list(names), "quantity", "repeat_difference")
    return table.merge(noise, on=[*SETTING, "quantity"], how="left")


def summary(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Mean, largest and signed mean error by ``by``, as fractions, and the mean difference between repeats.

    Returns
    -------
    DataFrame
        ``by``, ``n``, ``mean_error`` (of the absolute values), ``max_error``, ``bias`` and, where known, ``repeat_difference``.
    """
    rows = []
    for key, part in table.groupby(list(by), sort=False):
        size = np.abs(part["relative_error"].to_numpy(float))
        row = dict(zip(by, key, strict=True))
        row |= {"n": len(part), "mean_error": size.mean(), "max_error": size.max(), "bias": part["relative_error"].mean()}
        if "repeat_difference" in part:
            row["repeat_difference"] = part["repeat_difference"].mean()
        rows.append(row)
    return pd.DataFrame(rows)
