"""What a call of the trainer has run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True)
class RunSummary(Shown):
    """One run; times in seconds, sizes in samples, staleness in updates; accuracy and loss are NaN where gradients were waited for.

    Attributes
    ----------
    minibatch_ratio : float
        Mean mini-batch over M n b U / G: 1 where no gradient is lost.
    overshoot_share : float
        Usual (median) error of a wait over the shortest mean wait; above 0.05 the run emulates badly.
    """

    run: int
    mode: str
    cnn: str
    n_nodes: int
    n_gpus_per_node: int
    subbatch_size: int
    gpu_iteration_s: float
    update_iteration_s: float
    mean_minibatch_size: float
    epoch_s: float
    staleness: float
    minibatch_ratio: float
    n_computed: int
    n_used: int
    n_left: int
    cores_per_worker: float
    overshoot_share: float
    loss: float
    test_accuracy: float


@dataclass(frozen=True, slots=True)
class Trained(Shown):
    """What `train_asynchronously` ran and where its tables are.

    Attributes
    ----------
    folder : str
        The campaign: ``components.csv`` and ``runs.csv``, and under ``asgd`` everything behind them.
    rule : str
        Which iterations are stored but not counted.
    runs : tuple of RunSummary
        The runs of this call, in the order in which they ran.
    n_done_before : int
        Runs of these settings that the folder held already.
    """

    folder: str
    rule: str
    runs: tuple[RunSummary, ...]
    n_done_before: int

    def to_frame(self) -> pd.DataFrame:
        """One row per run."""
        return pd.DataFrame([run.to_dict() for run in self.runs])
