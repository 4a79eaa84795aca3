"""What a simulation beside the equations found, apart from the compiled loops that make it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.systems.base.distributions import Distribution


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRuns(Shown):
    """Simulated configurations beside the equations.

    Attributes
    ----------
    form : str
        Form of the equations that the table sets beside the simulation.
    n_iterations : int
        GPU iterations asked for of each GPU.
    table : DataFrame
        One row a configuration (``config``, position) and ``quantity``: ``equations``, ``simulated``, ``std_err`` (of the simulated
        value, from 20 batches; NaN where it has none), ``difference_error`` (equations / simulated - 1, a fraction) and
        ``differs``: the difference exceeds three standard errors and 1 %. Times in seconds, sizes in samples, staleness in updates.
    n_updates : tuple of int
        Updates counted, by configuration.
    minibatch, staleness : tuple of Distribution
        As counted, by configuration; samples and updates.
    """

    form: str
    n_iterations: int
    table: pd.DataFrame
    n_updates: tuple[int, ...]
    minibatch: tuple[Distribution, ...]
    staleness: tuple[Distribution, ...]

    def to_frame(self) -> pd.DataFrame:
        """The table."""
        return self.table
