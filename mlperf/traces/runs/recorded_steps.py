"""Throughput of two recordings, from their steps."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.traces.runs.compared import RECORDINGS, ComparedRuns, Question, compare_times
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import find_steps


def compare_recordings(a: Recording, b: Recording, question: Question | None = None, *, marker: str | None = None) -> ComparedRuns:
    """Steps a second before and after, and the ratio of step times B / A with its interval.

    Parameters
    ----------
    a, b : Recording
    question : Question, optional
    marker : str, optional
        Marks that are a step each.

    Raises
    ------
    DataError
        Steps cannot be found, or there are fewer than three.
    """
    names = str(a.folder), str(b.folder)
    return compare_times(step_times(a, marker), step_times(b, marker), question, names=names, of=RECORDINGS)


def step_times(recording: Recording, marker: str | None = None) -> FloatArray:
    """How long each step took on the rank that took longest, seconds, without the first of each rank."""
    rows = find_steps(recording, marker=marker).settled
    return np.asarray(rows.groupby("step", sort=True)["step_s"].max(), dtype=float)
