"""In which order two commands take turns."""

from __future__ import annotations

import numpy as np

A, B = "A", "B"
RUNS_A_BLOCK = 4


def block_orders(n_blocks: int, seed: int) -> tuple[str, ...]:
    """The order of the runs in every block: ``ABBA`` or ``BAAB``, by a coin.

    In both the two commands stand at the same mean place, so that a steady drift inside a block falls out of their difference.
    Which comes first is drawn, so that whatever else depends on the place (a cache that the first one warms) is no bias.

    Parameters
    ----------
    n_blocks : int
        Blocks, >= 0.
    seed : int
        Of the coin.

    Returns
    -------
    tuple of str, length n_blocks
    """
    coins = np.random.default_rng(seed).integers(0, 2, n_blocks)
    return tuple("ABBA" if coin else "BAAB" for coin in coins)
