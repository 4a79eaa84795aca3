"""Shares of the vectors by node."""

from __future__ import annotations

import numpy as np

from mlperf.collect.trainer.operations import share_of


def test_shares_of_the_nodes_cover_every_parameter_once() -> None:
    for n_nodes in (1, 2, 3, 7):
        covered = np.concatenate([np.arange(20)[share_of(20, n_nodes, node)] for node in range(n_nodes)])
        assert covered.tolist() == list(range(20))
