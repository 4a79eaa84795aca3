"""Where components come from after measurements: what was assumed of a machine's figures, and was then measured, is no longer."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from mlperf.planning.component_times import ASSUMED
from mlperf.planning.outside import ASSUMED_WHY
from mlperf.systems.sprint.components import OF_PASSES

CALIBRATED = "calibrated"
CALIBRATED_WHY = "from the machine's specification, calibrated on measurements"
NETWORK = "network"
"""What is worked out of a machine's latency and bandwidth has one factor in every system but SPRINT."""
MOSTLY = 0.5
"""Weight of the measurements beside what was assumed from which on a figure is no longer an assumption."""


def calibrated_sources(source: Mapping[str, str], factors: pd.DataFrame) -> dict[str, str]:
    """Sources by component, ``calibrated`` where the factor of an assumed one is mostly measured.

    Parameters
    ----------
    source : mapping of str to str
        As predicted without measurements.
    factors : DataFrame
        ``component, measured_share``, as `LogFactors.to_table` has them.
    """
    share: dict[str, float] = dict(zip(factors["component"], factors["measured_share"], strict=True))

    def measured(name: str) -> float:
        return share.get(name, 0.0 if name in OF_PASSES else share.get(NETWORK, 0.0))

    return {name: CALIBRATED if where == ASSUMED and measured(name) > MOSTLY else where for name, where in source.items()}


def calibrated_reasons(outside: pd.DataFrame | None, source: Mapping[str, str]) -> pd.DataFrame | None:
    """The reasons of `mlperf.planning.outside.outside_table`; calibrated components are no longer called not measured."""
    if outside is None:
        return None
    calibrated = outside["component"].map(source).eq(CALIBRATED)
    return outside.assign(
        why=outside["why"].where(~calibrated, outside["why"].str.replace(ASSUMED_WHY, CALIBRATED_WHY, regex=False))
    )
