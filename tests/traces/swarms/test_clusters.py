from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from mlperf.traces.swarms.clusters import cluster_functions, join_by_file


def drawn(rng: np.random.Generator, lanes: np.ndarray, n_events: int) -> np.ndarray:
    """Functions that work in parts of the run that their lane allows."""
    return np.array([rng.multinomial(n_events, own / own.sum()) for own in lanes]).astype(float)


def test_functions_of_one_activity_are_one_cluster_however_many() -> None:
    rng = np.random.default_rng(0)
    activity = drawn(rng, np.ones((60, 128)), 400)
    assert len(set(cluster_functions([activity], np.full(60, 400), ["a.so"] * 60).tolist())) == 1


def test_weakly_seen_functions_join_their_kind() -> None:
    rng = np.random.default_rng(1)
    lanes = np.repeat([np.arange(128) < 64, np.arange(128) >= 64], 20, axis=0).astype(float)
    n_events = np.where(np.arange(40) % 2, 1000, 12)
    activity = np.array([rng.multinomial(n, own / own.sum()) for n, own in zip(n_events, lanes, strict=True)]).astype(float)
    found = cluster_functions([activity], n_events, ["a.so"] * 40)
    assert adjusted_rand_score(np.repeat([0, 1], 20), found) == 1.0


def test_few_functions_that_never_work_together_are_apart() -> None:
    activity = np.zeros((3, 128))
    activity[[0, 1, 2], [5, 60, 100]] = 50.0
    assert len(set(cluster_functions([activity], np.full(3, 50), ["a.so"] * 3).tolist())) == 3


def test_few_functions_seen_a_few_times_all_along_are_one() -> None:
    rng = np.random.default_rng(4)
    activity = drawn(rng, np.ones((5, 128)), 12)
    assert len(set(cluster_functions([activity], np.full(5, 12), ["a.so"] * 5).tolist())) == 1


def test_files_tell_apart_what_works_at_the_same_times() -> None:
    rng = np.random.default_rng(2)
    activity = drawn(rng, np.ones((40, 128)), 2000)
    found = cluster_functions([activity], np.full(40, 2000), ["a.so"] * 20 + ["b.so"] * 20)
    assert adjusted_rand_score(np.repeat([0, 1], 20), found) == 1.0


def test_the_rarely_seen_join_their_file_or_nothing() -> None:
    found = join_by_file(np.array([0, 1, -1, -1]), np.array([5.0, 9.0, 1.0, 1.0]), ["a", "a", "a", "b"])
    assert found.tolist() == [0, 1, 1, -1]


def test_order_of_functions_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    lanes = np.repeat([np.arange(128) < 40, np.arange(128) >= 80], 15, axis=0).astype(float)
    activity = drawn(rng, lanes, 300)
    order = rng.permutation(30)
    files = ["a.so"] * 30
    one = cluster_functions([activity], np.full(30, 300), files)
    other = cluster_functions([activity[order]], np.full(30, 300), files)
    assert adjusted_rand_score(one[order], other) == 1.0
