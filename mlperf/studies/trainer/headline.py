"""Coefficients from one network predict others: the paper's Table 9 on emulated machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import TrainerRuns, settings_table
from mlperf.studies.trainer.costs import MEASURED, TABLE_ONLY, fit_costs
from mlperf.studies.trainer.errors import beside, summary, with_noise
from mlperf.studies.trainer.forms import FORMS, PREDICTING
from mlperf.studies.trainer.split import predict_settings, with_qualification

QUANTITIES = ("gpu_iteration_s", "epoch_s", "update_iteration_s", "mean_minibatch_size")
CLOSED = tuple(name for name in FORMS if name not in ("recursion", "simulation"))
INPUTS: Mapping[str, str] = {"components.csv": TABLE_ONLY, "components.csv and spreads": MEASURED}
"""What the predictor sees of the one network: the table alone, or also the spreads beside it in details.csv."""

PAPER = (
    # CNN, quantity, largest and mean error on KFC
    ("CNN-B", "epoch_s", 0.0768, 0.0577),
    ("CNN-B", "update_iteration_s", 0.111, 0.0584),
    ("CNN-B", "mean_minibatch_size", 0.187, 0.0624),
    ("CNN-C", "epoch_s", 0.157, 0.0683),
    ("CNN-C", "update_iteration_s", 0.183, 0.100),
    ("CNN-C", "mean_minibatch_size", 0.291, 0.116),
)
"""Oyama et al. (SPRINT), Table 9: coefficients from CNN-A; other networks, real hardware. Beside ours, not comparable with it."""


def headline_errors(
    runs: TrainerRuns, trained_on: str, *, forms: Sequence[str] = (*CLOSED, "recursion"), seed: int = 0
) -> pd.DataFrame:
    """Fit the costs of one network, predict the measured runs of the others on the same machine.

    Returns
    -------
    DataFrame
        One row a (inputs, form, setting, quantity): `errors.beside`'s columns, ``inputs`` (of `INPUTS`), ``repeat_difference``.

    Raises
    ------
    DataError
        No runs of ``trained_on``, or of no other network on its machines.
    """
    settings = with_qualification(settings_table(runs.table))
    parts = []
    for machine in settings.loc[settings["cnn"] == trained_on, "machine"].unique():
        here = settings[settings["machine"] == machine]
        train, test = (here[own].reset_index(drop=True) for own in (here["cnn"] == trained_on, here["cnn"] != trained_on))
        if test.empty:
            continue
        for inputs, spreads in INPUTS.items():
            found = predict_settings(fit_costs(train, runs.cnns, spreads), test, forms, seed)
            parts.append(beside(test, found, QUANTITIES).assign(inputs=inputs))
    if not parts:
        raise DataError(f"got no runs of {trained_on} and another network on one machine, expected some")
    return with_noise(pd.concat(parts, ignore_index=True), runs.table, QUANTITIES)


def headline_summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Mean and largest error by inputs, form and quantity: each network, and all together; then the paper's Table 9."""
    by = ["inputs", "form", "cnn", "quantity"]
    together = summary(errors.assign(cnn="all"), by)
    paper = pd.DataFrame(
        [
            {
                "inputs": "Oyama et al., Table 9",
                "form": "paper",
                "cnn": cnn,
                "quantity": name,
                "mean_error": mean,
                "max_error": largest,
            }
            for cnn, name, largest, mean in PAPER
        ]
    )
    return pd.concat([together, summary(errors, by), paper], ignore_index=True)


def predicting(errors: pd.DataFrame) -> pd.DataFrame:
    """The rows that the gates are asked of: the default form, from components.csv alone."""
    return errors[(errors["form"] == PREDICTING) & (errors["inputs"] == "components.csv")]
