"""Kernels and steps of several campaigns on one machine, as if one had measured all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.training.measured_on import MeasuredOn

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

TABLES = ("kernels", "steps")
COUNTERS = "dwc-b"


def with_further(
    campaign: Campaign, further: Sequence[Campaign], backend: str | None, characteristics: Sequence[str] | None = None
) -> Campaign:
    """A campaign with the kernels, steps and networks of others beside its own.

    Parameters
    ----------
    campaign : Campaign
        Its isolated products, updates and host stay as they are.
    further : sequence of Campaign
        Measured on the same machine with the same engine. A network that several measured has the rounds of all.
    backend : str or None
        Which engine's rows; the only one by default.
    characteristics : sequence of str, optional
        As of `mlperf.training.training.train_campaign`: counters belong to one campaign.

    Raises
    ------
    DataError
        A campaign is given twice, lacks a table, has no rows of the engine, was measured on another machine, or has another network
        of the same name.
    UsageError
        Counters were asked for.
    """
    if not further:
        return campaign
    if COUNTERS in (characteristics or ()):
        raise UsageError(
            f"got further campaigns and {COUNTERS}, expected one of them", hint="Counters are of the calls of one campaign."
        )
    engine = campaign.backend(backend)
    for other in further:
        _check_same(campaign, other, engine)
    every = (campaign, *further)
    return replace(
        campaign,
        name=" + ".join(part.name for part in every),
        cnns=dict(sorted((name, cnn) for part in every for name, cnn in part.cnns.items())),
        kernels=_after_one_another([part.table("kernels") for part in every]),
        steps=_after_one_another([part.table("steps") for part in every]),
    )


def _check_same(campaign: Campaign, other: Campaign, engine: str) -> None:
    if other.sha256 == campaign.sha256:
        raise DataError("got the campaign itself, expected a further one: its rounds would count twice", place=str(other.path))
    for name in TABLES:
        other.table(name)
    other.backend(engine)
    differences = MeasuredOn.of(campaign, engine).differences(MeasuredOn.of(other, engine))
    if differences:
        hint = (
            f"Times of two machines make no model of either: train on each by itself, and compare {other.name} with mlperf compare."
        )
        raise DataError(f"got {differences[0]}, expected the machine of {campaign.name}", place=str(other.path), hint=hint)
    for name, cnn in other.cnns.items():
        if campaign.cnns.get(name, cnn) != cnn:
            hint = "Rename it there: the tables refer to networks by name."
            raise DataError(f"got another network {name!r} than {campaign.name} has", place=f"{other.path}, cnns", hint=hint)


def _after_one_another(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of all, the rounds and the order of measuring of each after those of the one before."""
    shifted = [tables[0]]
    for table in tables[1:]:
        last = shifted[-1]
        moved = {name: table[name] + last[name].max() + 1 for name in ("round", "sequence")}
        shifted.append(table.assign(**moved))
    return pd.concat(shifted, ignore_index=True)
