"""What was measured of a network: the result of `mlperf.collect.loggps.collect_loggps`."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNetwork(Shown, frame="parameters"):
    """LogGPS parameters.

    Attributes
    ----------
    path : str
        The TOML file.
    transport : str
        Over what the ranks talked.
    parameters : DataFrame
        ``parameter``, ``value``, ``unit``, ``std_err`` (empty where there is none).
    times : DataFrame
        ``size_bytes`` and the smallest time of every experiment, seconds; ``flood`` of the smallest size alone.
    elapsed_s : float
        Time that the measurement took.
    notes : tuple of str
        What to know about the numbers.
    """

    path: str
    transport: str
    parameters: pd.DataFrame
    times: pd.DataFrame
    elapsed_s: float
    notes: tuple[str, ...]
