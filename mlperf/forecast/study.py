"""What each way to forecast is worth on recorded streams: the table of members by group of streams and horizon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.datasets.streams.read import read_stream
from mlperf.features.streams.table import steps_ahead, stream_performance, stream_windows
from mlperf.features.streams.window import PERFORMANCE_TERMS
from mlperf.models.estimators.learning.groups import group_edges, group_of, group_scores
from mlperf.models.online.forecaster import Forecast, ForecasterSettings
from mlperf.models.online.learners import LEARNERS
from mlperf.models.online.members import COMPARED, Member, Shape
from mlperf.models.online.protocol import Prequential, prequential

FIRST_SHARE = 0.25
"""Part of a stream whose quantiles are the edges; it is not scored."""
CLASSIFIER = "sgd_classifier"
MAJORITY = "majority"
SCORES = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "kappa", "within_one")


def group_table(
    levels: Sequence[float],
    terms: Sequence[FloatArray],
    forecasts: Sequence[Forecast],
    names: Sequence[str],
    horizon_steps: int,
    n_groups: int = 4,
) -> pd.DataFrame:
    """How well the group ``horizon_steps`` samples ahead is known.

    Parameters
    ----------
    levels : sequence of float, length n_samples
        Log performance.
    terms : sequence of array
        What was known with each.
    forecasts : sequence of Forecast
        Made at each.
    names : sequence of str
        Of the forecasters in ``Forecast.each``.
    horizon_steps : int
        Samples ahead.
    n_groups : int
        Groups of equal size in the first quarter of the stream, whose quantiles stay the edges.

    Returns
    -------
    DataFrame
        One row a forecaster, a classifier that learns online, and the most frequent group: accuracy, balanced accuracy, macro-F1,
        Matthews correlation, quadratic-weighted kappa, share within one group; empty where the first quarter holds fewer
        distinct values than groups.
    """
    observed = np.asarray(levels)
    first = max(horizon_steps, int(FIRST_SHARE * len(observed)))
    if len(observed) <= first or len(np.unique(observed[:first])) < n_groups:
        return pd.DataFrame()
    edges = np.log(group_edges(np.exp(observed[:first]), n_groups))
    groups = group_of(observed, edges)
    made = np.array([[forecast.hedged, *forecast.each] for forecast in forecasts])
    guesses = {name: group_of(made[:, index], edges) for index, name in enumerate(("hedge", *names))}
    guesses[CLASSIFIER] = classified(terms, groups, horizon_steps, n_groups)
    guesses[MAJORITY] = np.full(len(groups), np.bincount(groups[:first]).argmax())
    rows = []
    for name, guess in guesses.items():
        found = group_scores(guess[first - horizon_steps : len(groups) - horizon_steps], groups[first:], n_groups)
        rows.append({"forecast": name, **{score: getattr(found, score) for score in SCORES}})
    return pd.DataFrame(rows)


def classified(terms: Sequence[FloatArray], groups: IntArray, horizon_steps: int, n_groups: int) -> IntArray:
    """Group forecast at each sample ``horizon_steps`` ahead by a logistic classifier that learns each outcome when it is known."""
    learner = logistic()
    indicators = np.eye(n_groups)
    said = np.empty(len(groups), dtype=np.int64)
    rows: list[FloatArray] = []
    for step, group in enumerate(groups):
        rows.append(np.concatenate([indicators[group], terms[step]]))
        if step >= horizon_steps:
            learner.partial_fit(rows[step - horizon_steps][None], [group], classes=np.arange(n_groups))
        said[step] = learner.predict(rows[step][None])[0] if step >= horizon_steps else group
    return said


def logistic() -> Any:
    """Logistic regression by stochastic gradient descent with a constant step, which does not stop following."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.1, random_state=0)


HORIZONS_S = (0.25, 1.0, 5.0)


@dataclass(frozen=True, slots=True, eq=False)
class OnlineStudy(Shown):
    """Scores of every forecaster on every stream at every horizon.

    Attributes
    ----------
    scores : DataFrame
        ``stream``, ``horizon_s``, ``forecast``, ``n_scored``, ``mase``, ``mape``, ``log_error``, ``coverage`` (of the hedge).
    groups : DataFrame
        ``stream``, ``horizon_s``, ``forecast`` and the scores of the performance group ahead; no rows without ``n_groups``.
    inputs : mapping
        File that was read to the SHA-256 of its content.
    """

    scores: pd.DataFrame
    groups: pd.DataFrame
    inputs: Mapping[str, str]

    def to_frame(self) -> pd.DataFrame:
        """MASE: one row a forecaster, one column a stream and horizon."""
        named = self.scores.assign(place=self.scores["stream"] + " " + self.scores["horizon_s"].map("{:g} s".format))
        table = named.pivot_table(index="forecast", columns="place", values="mase", sort=False)
        return table.rename_axis(None, axis=1).reset_index()


def online_study(
    paths: Sequence[Path | str],
    *,
    horizons_s: Sequence[float] = HORIZONS_S,
    performance: str | None = None,
    learners: bool = True,
    n_groups: int = 0,
) -> OnlineStudy:
    """Score the hedge, its members and other learners on recorded streams, prequentially.

    Parameters
    ----------
    paths : sequence of path
        Recorded streams.
    horizons_s : sequence of float
        How far ahead, seconds.
    performance : str, optional
        What is forecast; default what each recording says.
    learners : bool
        Whether scikit-learn's ``partial_fit`` learners run beside the members; they take most of the time.
    n_groups : int
        Performance groups to score as well, with quantiles of the first quarter of each stream as edges; 0: none.
    """
    compared: dict[str, Callable[[Shape], Member]] = {**COMPARED, **(LEARNERS if learners else {})}
    settings = ForecasterSettings(compared=compared)
    frames, groups, inputs = [], [], {}
    for path in paths:
        stream = read_stream(path)
        inputs[str(path)] = stream.sha256
        windows = list(stream_windows(stream, stream_performance(stream, performance)))
        shape = Shape(len(PERFORMANCE_TERMS), len(windows[0].scaled))
        for horizon_s in horizons_s:
            levels, terms = [window.level for window in windows], [window.terms for window in windows]
            steps = steps_ahead(horizon_s, stream.interval_s)
            found = prequential(levels, terms, steps, shape, settings)
            frames.append(scores(stream.name, horizon_s, found))
            if n_groups:
                names = [*settings.members, *settings.compared]
                table = group_table(levels, terms, found.forecasts, names, steps, n_groups)
                groups.append(placed(table, stream.name, horizon_s))
    return OnlineStudy(
        pd.concat(frames, ignore_index=True), pd.concat(groups, ignore_index=True) if groups else pd.DataFrame(), inputs
    )


def scores(stream: str, horizon_s: float, found: Prequential) -> pd.DataFrame:
    """Rows of one stream and horizon."""
    frame = placed(found.to_frame(), stream, horizon_s)
    frame.insert(3, "n_scored", found.n_scored)
    frame["coverage"] = found.coverage
    return frame


def placed(table: pd.DataFrame, stream: str, horizon_s: float) -> pd.DataFrame:
    """A table behind the stream and the horizon that it belongs to."""
    return pd.concat([pd.DataFrame({"stream": stream, "horizon_s": horizon_s}, index=table.index), table], axis=1)
