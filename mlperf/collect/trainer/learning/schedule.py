"""Which weights each gradient reads and which update uses it, drawn instead of timed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

COLUMNS = ("update", "node", "gpu", "iteration", "version")


@dataclass(frozen=True, slots=True)
class Pacing:
    """How fast workers are beside the update thread; times in updates, of which one passes at a time.

    Attributes
    ----------
    iteration : float
        Mean length of a worker's iteration, T_GPU / T_Update, > 0.
    variation : float
        Standard deviation of one iteration over the mean; gamma distributed.
    delay : int
        Workers read weights that are so many updates older than the latest.
    """

    iteration: float
    variation: float = 0.1
    delay: int = 0

    @property
    def staleness(self) -> float:
        """Mean staleness after the start, updates: an iteration, the wait for the next sum, and the delay."""
        return self.iteration + 1.0 + self.delay

    def mean_minibatch_size(self, n_workers: int, subbatch_size: int) -> float:
        """Samples per update after the start."""
        return n_workers * subbatch_size / self.iteration


def scheduled_uses(n_nodes: int, n_gpus_per_node: int, n_updates: int, pacing: Pacing, seed: int) -> pd.DataFrame:
    """Gradients of a run as its record would name them.

    Update k sums its buffers at time k and publishes version k + 1 at time k + 1. An iteration that begins at t reads version
    floor(t), or an older one by the delay; one that ends at t is summed by update floor(t) + 1.

    Parameters
    ----------
    n_nodes, n_gpus_per_node : int
        Each worker begins at a random moment of its first iteration.
    n_updates : int
        Length of the run.
    pacing : Pacing
    seed : int

    Returns
    -------
    DataFrame
        ``update, node, gpu, iteration, version``, in the order in which updates use them.

    References
    ----------
    Oyama et al. (SPRINT), Algorithms 1 and 2.
    """
    parts = []
    for node in range(n_nodes):
        for gpu in range(n_gpus_per_node):
            rng = np.random.default_rng((seed, node, gpu))
            parts.append(worker_uses(n_updates, pacing, rng).assign(node=node, gpu=gpu))
    uses = pd.concat(parts, ignore_index=True)[list(COLUMNS)]
    return uses.sort_values(["update", "node", "gpu", "iteration"], ignore_index=True)


def worker_uses(n_updates: int, pacing: Pacing, rng: np.random.Generator) -> pd.DataFrame:
    """Gradients of one worker.

    Parameters
    ----------
    n_updates : int
        Length of the run.
    pacing : Pacing
        Lengths of its iterations, and the delay of what it reads.
    rng : Generator
        Of this worker alone.

    Returns
    -------
    DataFrame, shape (n_gradients, 3)
        ``iteration`` (from 0), ``version`` of the weights that it read, ``update`` that used it.
    """
    n_draws = int(1.2 * n_updates / pacing.iteration + 10.0 * (1.0 + pacing.variation) + 10.0)
    lengths = iteration_lengths(n_draws, pacing, rng)
    begins = np.concatenate([[0.0], np.cumsum(lengths)]) - rng.uniform() * lengths[0]
    begins = begins[begins < n_updates - 1]
    version = np.maximum(np.floor(np.maximum(begins[:-1], 0.0)) - pacing.delay, 0.0)
    update = np.floor(begins[1:]) + 1.0
    return pd.DataFrame({"iteration": np.arange(len(version)), "version": version.astype(int), "update": update.astype(int)})


def iteration_lengths(n_draws: int, pacing: Pacing, rng: np.random.Generator) -> np.ndarray:
    """Lengths of iterations, gamma distributed; all alike without variation.

    Parameters
    ----------
    n_draws : int
        How many.
    pacing : Pacing
        Their mean and coefficient of variation.
    rng : Generator
        Where they are drawn from.

    Returns
    -------
    array, shape (n_draws,)
        In updates, > 0.
    """
    if not pacing.variation:
        return np.full(n_draws, pacing.iteration)
    shape = pacing.variation**-2.0
    return rng.gamma(shape, pacing.iteration / shape, n_draws)
