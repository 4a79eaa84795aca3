"""How far predictions are from runs: errors, coverage and width of intervals; networks weigh alike."""

from __future__ import annotations

import pandas as pd

EVERY = "all"
BY = ["protocol", "machine", "method", "nodes", "quantity"]
JUDGED = ("epoch_s", "update_iteration_s", "mean_minibatch_size")


def score_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Scores of `mlperf.studies.trainer.predictions.split_rows` by protocol, machine, method, number of nodes and quantity.

    Returns
    -------
    DataFrame
        `BY` (``nodes``: a number as text, or ``all``), ``n`` settings; ``mean_error`` and ``median_error`` over the trainings,
        ``max_error`` of a setting; ``coverage`` and mean ``half_width`` of the intervals. Fractions; in each training the networks
        weigh alike, and so do the trainings.
    """
    every = pd.concat([rows.assign(nodes=EVERY), rows.assign(nodes=rows["n_nodes"].astype(str))], ignore_index=True)
    every = every.assign(
        error=every["relative_error"].abs(), half_width=0.5 * (every["upper"] - every["lower"]) / every["predicted"]
    )
    networks = every.groupby([*BY, "trained_on", "cnn"], sort=False)[["error", "inside", "half_width"]].mean()
    trainings = networks.groupby([*BY, "trained_on"], sort=False).mean().groupby(BY, sort=False)
    settings = every.groupby(BY, sort=False)
    means = trainings.mean().rename(columns={"error": "mean_error", "inside": "coverage"})
    return means.assign(
        n=settings.size(), median_error=trainings["error"].median(), max_error=settings["error"].max()
    ).reset_index()
