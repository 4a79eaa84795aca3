"""What the steps of one network err by: all alike, and each sub-batch by itself, drawn from networks that were left out."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.models.uncertainty.residual_quantiles import draw_residuals


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
    of_network = residuals.groupby("cnn", sort=False)["log_residual"]
    about = (residuals["log_residual"] - of_network.transform("mean")).to_numpy(float)
    freedom = len(residuals) - of_network.ngroups
    number, networks = pd.factorize(configs["cnn"])
    found = draw_residuals(of_network.mean().to_numpy(float), (n_draws, len(networks)), rng)[:, number]
    if not freedom:
        return found
    octave = np.log2(configs["subbatch_size"].to_numpy(float))
    below = np.floor(octave).astype(int)
    first, n_octaves = int(below.min()), int(below.max() - below.min()) + 2
    own = about * np.sqrt(len(residuals) / freedom)
    at = draw_residuals(own, (n_draws, len(networks), n_octaves), rng)
    part = octave - below
    lower, upper = at[:, number, below - first], at[:, number, below - first + 1]
    # As wide between two octaves as at them.
    return np.asarray(found + ((1.0 - part) * lower + part * upper) / np.hypot(1.0 - part, part))
