"""Characteristics of a whole network: one row a (CNN, sub-batch) pair."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from mlperf.specs.network.cnn import CnnSpec


def network_table(runs: Iterable[tuple[CnnSpec, int]]) -> pd.DataFrame:
    """Static characteristics of whole networks (SWC-S of a CNN).

    Returns
    -------
    DataFrame
        ``cnn``, ``subbatch_size``, ``n_params``, ``n_macs`` and ``n_flops`` (forward, per sample), ``n_layers``,
        ``image_elements`` (values of the sub-batch's input images).
    """
    rows = []
    for cnn, subbatch_size in runs:
        height, width = cnn.input_size
        rows.append(
            {
                "cnn": cnn.name,
                "subbatch_size": int(subbatch_size),
                "n_params": cnn.n_params,
                "n_macs": cnn.n_macs,
                "n_flops": cnn.n_flops,
                "n_layers": len(cnn.layers),
                "image_elements": int(subbatch_size) * cnn.input_maps * height * width,
            }
        )
    return pd.DataFrame(rows)
