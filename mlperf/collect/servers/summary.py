"""What a call of the parameter-server trainer has run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown

SHOWN = (
    *("run", "cnn", "n_replicas", "n_servers", "plan", "exchange", "repeat"),
    *("epoch_s", "samples_per_s", "staleness", "test_accuracy", "overshoot_share"),
)


@dataclass(frozen=True, slots=True, eq=False)
class ServerRuns(Shown):
    """Runs of one call.

    Attributes
    ----------
    folder : str
        Where ``ps_runs.csv`` is.
    mode : str
        ``real``, or what was emulated.
    runs : DataFrame
        The rows of ``ps_runs.csv`` that this call added.
    n_done_before : int
        Runs that were there already.
    """

    folder: str
    mode: str
    runs: pd.DataFrame
    n_done_before: int

    def to_frame(self) -> pd.DataFrame:
        """One row a run."""
        return self.runs[[name for name in SHOWN if name in self.runs.columns]]
