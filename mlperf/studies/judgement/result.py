"""What a judgement found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.studies.trainer.gates import Gated
from mlperf.studies.trainer.predictions import MODEL, STEP_ALONE


@dataclass(frozen=True, slots=True, eq=False)
class Judgement(Gated):
    """`mlperf train` and `mlperf predict` judged as docs/explanation/judgement.md says; errors are fractions.

    Attributes
    ----------
    gates : DataFrame
        See `mlperf.studies.judgement.verdict.verdict_table`.
    runs : DataFrame
        One row a run: the table of `mlperf.datasets.campaigns.trainer_runs.TrainerRuns`.
    rows : DataFrame
        See `mlperf.studies.judgement.answers.answer_rows`.
    networks, errors, intervals : DataFrame
        See `mlperf.studies.judgement.scores`.
    noise : mapping of str to float
        By quantity: twice the mean difference of two runs of a setting.
    windows, pairs : DataFrame
        See `mlperf.studies.judgement.windows`.
    sha256 : mapping of str to str
        Digest of each campaign.
    """

    gates: pd.DataFrame
    runs: pd.DataFrame
    rows: pd.DataFrame
    networks: pd.DataFrame
    errors: pd.DataFrame
    intervals: pd.DataFrame
    noise: Mapping[str, float]
    windows: pd.DataFrame
    pairs: pd.DataFrame
    sha256: Mapping[str, str]

    @property
    def mean_regret(self) -> dict[str, float]:
        """Mean regret over all windows, by who chose."""
        return {str(name): float(value) for name, value in self.windows.groupby("method")["regret"].mean().items()}

    @property
    def n_reversed(self) -> dict[str, int]:
        """Pairs told in the wrong order or as a tie, by who said so."""
        return {name: int((self.pairs[name] <= 0.0).sum()) for name in (MODEL, STEP_ALONE)}

    @property
    def chooses_better(self) -> bool:
        """Whether the model has less regret and fewer reversed pairs than the gradient alone."""
        regret, wrong = self.mean_regret, self.n_reversed
        return regret[MODEL] < regret[STEP_ALONE] and wrong[MODEL] < wrong[STEP_ALONE]
