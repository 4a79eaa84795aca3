"""What the judgement of trainer campaigns found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.studies.trainer.histograms import HistogramComparison
from mlperf.studies.trainer.ranking import Ranking


@dataclass(frozen=True, slots=True, eq=False)
class TrainerAccuracy(Shown):
    """SPRINT's equations against an asynchronous trainer; every error is a fraction, a table without rows was not measured.

    Attributes
    ----------
    trained_on : str
        The network whose runs everything was fitted on.
    modes : DataFrame
        What was run: one row a machine and network, with settings, repeats and how many settings qualify.
    gates : DataFrame
        ``gate, value, limit, met`` of everything that was asked.
    split_summary, split : DataFrame
        Fitted on few nodes and tested on more, compared with known costs: by form and quantity; every setting.
    wait_summary, waits : DataFrame
        Lock waits and barrier by form; every setting, seconds.
    headline_summary, headline : DataFrame
        Coefficients of one network on others, with the paper's Table 9; every setting.
    transfer : DataFrame
        Gradient time of every network of the campaign that the waits were drawn from, by the same one coefficient.
    rankings : tuple of Ranking
        In-window configurations by machine.
    components : DataFrame
        Components and outputs by recipe, on held-out settings and networks.
    distribution_summary, distributions : DataFrame
        Mini-batch size and staleness against their predicted distributions.
    examples : tuple of HistogramComparison
        Distributions of a few settings, for the figure.
    known : DataFrame
        Known costs put into the equations, by mode: also those with real memory work and real gradients.
    stretches : DataFrame
        Modes with real work: times compared with the least crowded setting.
    sha256 : mapping
        Digest of each campaign.
    """

    trained_on: str
    modes: pd.DataFrame
    gates: pd.DataFrame
    split_summary: pd.DataFrame
    split: pd.DataFrame
    wait_summary: pd.DataFrame
    waits: pd.DataFrame
    headline_summary: pd.DataFrame
    headline: pd.DataFrame
    transfer: pd.DataFrame
    rankings: tuple[Ranking, ...]
    components: pd.DataFrame
    distribution_summary: pd.DataFrame
    distributions: pd.DataFrame
    examples: tuple[HistogramComparison, ...]
    known: pd.DataFrame
    stretches: pd.DataFrame
    sha256: Mapping[str, str]

    @property
    def missed(self) -> list[str]:
        """Gates that are not met."""
        return [str(name) for name in self.gates.loc[~self.gates["met"], "gate"]]

    def to_frame(self) -> pd.DataFrame:
        """The gates as a table."""
        return self.gates
