"""What the judgement by trainer campaigns found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.studies.trainer.gates import Gated
from mlperf.studies.trainer.histograms import HistogramComparison


@dataclass(frozen=True, slots=True, eq=False)
class TrainerAccuracy(Gated):
    """`mlperf train` and `mlperf predict` against an asynchronous trainer; errors are fractions, what was not measured has no rows.

    Attributes
    ----------
    measured : DataFrame
        What was run: one row a machine and network, with settings and repeats.
    gates : DataFrame
        ``gate, value, least, most, met`` of everything that was asked.
    scores, rows : DataFrame
        See `mlperf.studies.trainer.scores.score_table` and `mlperf.studies.trainer.predictions.split_rows`.
    windows : DataFrame
        See `mlperf.studies.trainer.ranking.rank_windows`.
    equations : DataFrame
        Measured component times put into the equations (see `mlperf.studies.trainer.equations.equation_errors`).
    distributions : DataFrame
        Mini-batch size and staleness of networks left out against their predicted distributions.
    examples : tuple of HistogramComparison
        A few of them, for the figure.
    sha256 : mapping
        Digest of each campaign.
    """

    measured: pd.DataFrame
    gates: pd.DataFrame
    scores: pd.DataFrame
    rows: pd.DataFrame
    windows: pd.DataFrame
    equations: pd.DataFrame
    distributions: pd.DataFrame
    examples: tuple[HistogramComparison, ...]
    sha256: Mapping[str, str]
