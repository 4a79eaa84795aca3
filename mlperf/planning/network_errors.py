"""What the steps of one network err by: all alike, each sub-batch and each setting by itself, drawn from what was left out."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.uncertainty.residual_quantiles import draw_residuals
from mlperf.training.run_errors import GPU, SUBBATCH

NETWORK, STEP = ["cnn"], ["cnn", SUBBATCH]


def network_errors(residuals: pd.DataFrame, configs: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw log(measured / predicted) of the steps of networks that nobody ran.

    Steps of one network err alike, so that its configurations keep their order, but for what its sub-batches err by about their
    common error. Networks were measured at sub-batches that double; between two of those errors are interpolated, so that
    neighbours, which run the same kernels at nearly the same sizes, err nearly alike.

    Parameters
    ----------
    residuals : DataFrame
        Left-out steps, may be empty: ``cnn`` and ``log_residual``, as of `GradientScore.step_residuals`.
    configs : DataFrame
        ``cnn`` (number) and ``subbatch_size`` of each configuration.
    n_draws : int
        Number of draws.
    rng : Generator

    Returns
    -------
    array, shape (n_draws, n_configs)
    """
    if residuals.empty:
        return np.zeros((n_draws, len(configs)))
    number, networks = pd.factorize(configs["cnn"])
    of_network = residuals.groupby("cnn", sort=False)["log_residual"].mean().to_numpy(float)
    common = draw_residuals(of_network, (n_draws, len(networks)), rng)[:, number]
    return common + _at_octaves(_about_mean(residuals, "log_residual", NETWORK), number, configs[[SUBBATCH]], n_draws, rng)


def setting_errors(residuals: pd.DataFrame, configs: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw log(measured / predicted) of T_GPU that settings of one step err by beside what the step does.

    Nodes and GPUs of a node that double err by themselves, and so does every run; in between errors are interpolated, as those of
    `network_errors`: neighbours wait for nearly the same. All sub-batches of a network share them, whose own errors those are.

    Parameters
    ----------
    residuals : DataFrame
        Left-out runs, may be empty: ``cnn``, ``subbatch_size`` and log(measured / predicted) of ``gpu_iteration_s``; model files of
        earlier releases have no sub-batches, and tell nothing.
    configs : DataFrame
        ``cnn`` (number), ``n_nodes`` and ``n_gpus_per_node`` of each configuration.
    n_draws : int
        Number of draws.
    rng : Generator

    Returns
    -------
    array, shape (n_draws, n_configs)
    """
    if residuals.empty or SUBBATCH not in residuals:
        return np.zeros((n_draws, len(configs)))
    number, _ = pd.factorize(configs["cnn"])
    return _at_octaves(_about_mean(residuals, GPU, STEP), number, configs[["n_nodes", "n_gpus_per_node"]], n_draws, rng)


def _about_mean(residuals: pd.DataFrame, column: str, groups: list[str]) -> FloatArray:
    """Errors about the mean of their group, as wide as those of a group without end; none where no group has two."""
    errors = residuals[column].astype(float)
    grouped = errors.groupby([residuals[name] for name in groups], sort=False)
    freedom = len(errors) - grouped.ngroups
    return (errors - grouped.transform("mean")).to_numpy(float) * np.sqrt(len(errors) / freedom) if freedom else np.empty(0)


def _at_octaves(errors: FloatArray, network: IntArray, counts: pd.DataFrame, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Errors drawn where all counts are powers of two, by network; interpolated in between. Shape (n_draws, n_configs)."""
    if not len(errors):
        return np.zeros((n_draws, len(counts)))
    octave = np.log2(counts.to_numpy(float))
    below = np.floor(octave).astype(int)
    part, place = octave - below, below - below.min(axis=0)
    shape = (n_draws, int(network.max()) + 1, *(int(places.max()) + 2 for places in place.T))
    at = draw_residuals(errors, shape, rng)
    found, squares = np.zeros((n_draws, len(counts))), np.zeros(len(counts))
    for corner in np.ndindex(*(2,) * octave.shape[1]):
        weight = np.prod(np.where(corner, part, 1.0 - part), axis=1)
        found += weight * at[(slice(None), network, *(place + corner).T)]
        squares += np.square(weight)
    # As wide between octaves as at them.
    return np.asarray(found / np.sqrt(squares))
