"""What a call of the synchronous trainer has run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class SynchronousRuns(Shown, frame="runs"):
    """What `train_synchronously` ran and where its tables are.

    Attributes
    ----------
    folder : str
        With ``runs.csv``, ``exchange.csv``, ``host.json`` and ``cnns/``.
    runs : DataFrame
        The runs of this call: mode, network, processes, sub-batch, step_s and its parts, seconds.
    n_done_before : int
        Runs of these settings that the folder held already.
    n_exchanges : int
        Rows of isolated exchanges of this call.
    n_diverged : int
        Runs of this call at whose end the loss was no number.
    """

    folder: str
    runs: pd.DataFrame
    n_done_before: int
    n_exchanges: int
    n_diverged: int
