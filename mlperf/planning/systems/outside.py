"""Why a system's prediction lies outside the measured domain: the reasons of the measured parts that its components are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.planning.component_times import ASSUMED, GRADIENT, NOT_MEASURED
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.planning.outside import (
    ASSUMED_WHY,
    COLUMNS,
    UNUSUAL,
    checks_of,
    elsewhere,
    first_reason,
    gradient_outside,
    heaviest_first,
    no_size,
)
from mlperf.planning.systems.times import (
    MEASURED_EXCHANGE,
    SUM_OF_BUFFERS,
    SystemTimes,
    keeps_threads,
    measured_parts,
    of_system,
)
from mlperf.systems.base.system import System
from mlperf.training.model import Model

Breakdown = Mapping[str, Mapping[str, FloatArray]]

PLAIN = {
    ASSUMED: ASSUMED_WHY,
    MEASURED_EXCHANGE: "sizes or counts that the exchange was not measured at",
}
"""Reasons of components without a fit of the campaign, by source."""


def system_outside(
    model: Model, inputs: ConfigurationInputs, system: System, means: SystemTimes, breakdown_s: Breakdown, method: str
) -> pd.DataFrame:
    """List what of each configuration lies outside the measured domain, the largest share first.

    Parameters
    ----------
    model, inputs, system, means, method
        What was asked, and its component times with the flags to explain.
    breakdown_s : mapping of str to mapping of str to array, shape (n_configs,)
        By activity and component, as in `SystemPrediction`.

    Returns
    -------
    DataFrame
        As `mlperf.planning.outside.outside_table`; ``share`` is of the component's period, the larger one of two.
    """
    if means.other_machine:
        return elsewhere(means.other_machine, len(inputs.configs))
    asked = inputs if keeps_threads(system) else of_system(inputs)
    found = []
    for name, inside in means.in_domain.items():
        if inside.all() or means.source[name] == NOT_MEASURED:
            continue
        parts = parts_of(model, system, name)
        if GRADIENT in parts:
            share = share_of_periods(breakdown_s, [each for each in means.in_domain if GRADIENT in parts_of(model, system, each)])
            found.append(gradient_outside(model, asked, inside, method, share).assign(component=name))
            continue
        share = share_of_periods(breakdown_s, [name])
        checks = () if means.source[name] in PLAIN else [check for part in parts for check in checks_of(model, asked, part)]
        for row in map(int, np.flatnonzero(~inside)):
            why, size = first_reason(checks, row) if checks else (PLAIN.get(means.source[name], UNUSUAL), no_size())
            found.append(pd.DataFrame([(row, name, "", "", *size, float(share[row]), f"{name}: {why}")], columns=list(COLUMNS)))
    return heaviest_first(found or [pd.DataFrame(columns=list(COLUMNS))])


def parts_of(model: Model, system: System, component: str) -> tuple[str, ...]:
    """The measured parts whose flags make a component's."""
    return (SUM_OF_BUFFERS.get(component, component),) if keeps_threads(system) else measured_parts(model, component)


def share_of_periods(breakdown_s: Breakdown, components: Iterable[str]) -> FloatArray:
    """What components take of the period in which they weigh most, shape (n_configs,); 0 of a period without time."""
    names = set(components)
    shares = []
    for parts in breakdown_s.values():
        total = np.sum(list(parts.values()), axis=0)
        own = np.sum([seconds for name, seconds in parts.items() if name in names] or [np.zeros_like(total)], axis=0)
        shares.append(np.divide(own, total, out=np.zeros_like(total), where=total > 0.0))
    return np.asarray(np.max(shares, axis=0))
