"""What a judgement of parameter-server runs found."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class ParallelJudgement(Shown):
    """Predicted and measured epoch times.

    Attributes
    ----------
    rows : DataFrame
        One row a configuration: its setting, ``measured_s`` (mean over the repeats, as measured), ``model_s``, ``perfect_s``,
        ``efficiency_s`` (predictions on the same slowed machine), ``error`` of the model (a fraction), ``test_accuracy``,
        ``staleness`` and ``staleness_told``, ``overshoot_share``.
    gates : DataFrame
        ``gate, value, least, most, met``.
    noise : float
        Twice the mean relative difference of two runs of a configuration.
    mode : str
        What was emulated.
    """

    rows: pd.DataFrame
    gates: pd.DataFrame
    noise: float
    mode: str

    def to_frame(self) -> pd.DataFrame:
        """The gates."""
        return self.gates
