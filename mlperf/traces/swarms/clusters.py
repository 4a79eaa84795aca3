"""Functions that work at the same times, and come from the same files, as one swarm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray

MOST_CLUSTERS = 12
MOST_DIMENSIONS = 10
LEAST_EVENTS = 8
"""A function seen less often says too little about when it works."""
FILE_WEIGHT = 0.5
"""What coming from one file counts against working at the same times."""
JUDGED = 1500
"""Functions on which numbers of clusters are judged: the judgement is quadratic in them."""
LEAST_SILHOUETTE = 0.3
"""Clusters that are told apart no better are one: functions that all work all along get up to 0.3 by chance."""
APART = 0.8
"""Few functions that are all at least so far from each other are clusters of their own; nothing in common is 1.41."""
FEW = 40
EVENTS_OF_BIN = 4
"""Of few functions, parts of the run are joined until the usual one was seen so often in each: what is left is no noise."""
SEED = 0


def cluster_functions(activity: Sequence[FloatArray], n_events: IntArray, files: Sequence[str]) -> IntArray:
    """Cluster functions by when they work and where they come from.

    Rows are square roots of each function's share of its time in each part of the run, so that distances are those of Hellinger,
    beside their file. The best ten directions are kept, with weights by how often a function was seen: what rarely seen
    functions scatter is noise. Of 2 to 12 clusters the number with the best silhouette is taken.

    Parameters
    ----------
    activity : sequence of array, each of shape (n_functions, n_bins)
        Time in each part of the run, and of a step where steps are known.
    n_events : array of int64, shape (n_functions,)
    files : sequence of str

    Returns
    -------
    array of int64, shape (n_functions,)
        Numbers of clusters from 0; functions that were seen fewer than 8 times join the cluster that most time of their file is in,
        -1 where no cluster has their file.
    """
    seen = np.flatnonzero(n_events >= LEAST_EVENTS)
    found = np.full(len(files), -1, dtype=np.int64)
    if len(seen):
        codes = np.unique(np.array(files, dtype=object)[seen], return_inverse=True)[1].reshape(-1)
        found[seen] = _clustered(_directions([each[seen] for each in activity], n_events[seen], codes), n_events[seen])
    return join_by_file(found, activity[0].sum(axis=1), files)


def join_by_file(cluster: IntArray, time_ns: FloatArray, files: Sequence[str]) -> IntArray:
    """Give functions without a cluster that of most time of their file; -1 stays where no cluster has the file."""
    spent: dict[str, dict[int, float]] = {}
    for at in np.flatnonzero(cluster >= 0).tolist():
        own = spent.setdefault(files[at], {})
        own[int(cluster[at])] = own.get(int(cluster[at]), 0.0) + float(time_ns[at])
    most = {file: max(own, key=lambda number: own[number]) for file, own in spent.items()}
    return np.array(
        [most.get(file, -1) if own < 0 else own for file, own in zip(files, cluster.tolist(), strict=True)], dtype=np.int64
    )


def _directions(activity: Sequence[FloatArray], n_events: IntArray, files: IntArray) -> FloatArray:
    """Rows of length 1 in at most ten directions."""
    shares = []
    for each in activity if len(n_events) > FEW else [_coarser(each, float(np.median(n_events))) for each in activity]:
        total = each.sum(axis=1, keepdims=True)
        shares.append(np.sqrt(each / np.where(total > 0, total, 1.0)))
    file = np.zeros((len(files), int(files.max(initial=0)) + 1), dtype=float)
    file[np.arange(len(files)), files] = FILE_WEIGHT
    both = np.concatenate((*shares, file), axis=1)
    # Directions of the rows' second moments; by eigenvalues of a small matrix where there are more functions than columns.
    weighted = both * np.sqrt(n_events)[:, None]
    values, vectors = np.linalg.eigh(weighted.T @ weighted) if both.shape[1] <= 4 * len(both) else _wide(weighted)
    kept = np.argsort(-values)[:MOST_DIMENSIONS]
    placed = both @ vectors[:, kept]
    length = np.linalg.norm(placed, axis=1, keepdims=True)
    found: FloatArray = placed / np.where(length > 0, length, 1.0)
    return found


def _coarser(activity: FloatArray, n_events: float) -> FloatArray:
    """Neighbouring parts joined, twice as many each time, but not fewer than eight."""
    while activity.shape[1] > 8 and n_events < EVENTS_OF_BIN * activity.shape[1]:
        activity = activity[:, ::2] + activity[:, 1::2]
    return activity


def _wide(weighted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Directions of a matrix with few rows."""
    _, values, rows = np.linalg.svd(weighted, full_matrices=False)
    return values**2, rows.T


def _clustered(rows: FloatArray, n_events: IntArray) -> IntArray:
    """Numbers of the best clustering."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    different, of_row = np.unique(np.round(rows, 9), axis=0, return_inverse=True)
    n_different = len(different)
    judged = np.argsort(-n_events, kind="stable")[:JUDGED]
    best, chosen = LEAST_SILHOUETTE, np.zeros(len(rows), dtype=np.int64)
    if n_different <= MOST_CLUSTERS and _all_apart(different):
        return of_row.reshape(-1).astype(np.int64)
    for k in range(2, min(MOST_CLUSTERS, n_different - 1) + 1):
        labels = KMeans(k, n_init=4, random_state=SEED).fit_predict(rows)
        if len(np.unique(labels[judged])) < 2:
            continue
        score = float(silhouette_score(rows[judged], labels[judged]))
        if score > best:
            best, chosen = score, labels.astype(np.int64)
    return chosen


def _all_apart(rows: FloatArray) -> bool:
    """Whether no two are close."""
    distance = np.linalg.norm(rows[:, None] - rows[None], axis=2) + np.where(np.eye(len(rows), dtype=bool), np.inf, 0.0)
    return bool((distance >= APART).all())
