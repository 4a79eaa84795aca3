"""Which way of modelling components predicts better: on settings and on networks that were held out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.datasets.campaigns.trainer_runs import TrainerRuns, settings_table
from mlperf.models.validation.folds import grouped_folds
from mlperf.studies.trainer.errors import beside, summary
from mlperf.studies.trainer.forms import predicted
from mlperf.studies.trainer.known import run_grid
from mlperf.studies.trainer.recipes import FORM_OF, Recipes, fit_recipes
from mlperf.studies.trainer.split import TESTED_ON, TRAINED_ON, with_qualification
from mlperf.systems.sprint.components import FITTED
from mlperf.systems.sprint.outputs import OUTPUTS

LEAST_NETWORKS = 3
LEAST_SETTINGS, N_FOLDS, FOLD_SEED = 12, 4, 0


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    held_out: str
    train: pd.DataFrame
    test: pd.DataFrame


def compare_components(
    runs: TrainerRuns,
    cnn: str,
    *,
    trained_on: Sequence[int] = TRAINED_ON,
    tested_on: Sequence[int] = TESTED_ON,
) -> pd.DataFrame:
    """Errors of the paper's regressors, of terms chosen by AIC, and of the laws.

    Held-out settings: a random quarter of those of ``cnn``, four times. More nodes: ``cnn`` on ``trained_on`` nodes predicts it on
    ``tested_on``. Held-out networks: of three and more networks on
    one machine, each is predicted from the others.

    Returns
    -------
    DataFrame
        ``held_out, quantity, recipe, n, mean_error, max_error, bias``; the quantity is a component's column, or an output of the
        equations (end to end).
    """
    settings = with_qualification(settings_table(runs.table))
    folds = [
        *_setting_folds(settings, cnn),
        *_node_folds(settings, cnn, trained_on, tested_on),
        *_network_folds(settings),
    ]
    parts = []
    for fold in folds:
        recipes = fit_recipes(fold.train, runs.cnns, runs.cache_bytes)
        for recipe in FORM_OF:
            found = pd.concat([_component_errors(recipes, recipe, fold.test), _output_errors(recipes, recipe, fold.test)])
            parts.append(found.assign(held_out=fold.held_out, recipe=recipe))
    if not parts:
        return pd.DataFrame()
    return summary(pd.concat(parts, ignore_index=True), ["held_out", "quantity", "recipe"])


def _node_folds(settings: pd.DataFrame, cnn: str, trained_on: Sequence[int], tested_on: Sequence[int]) -> Iterator[_Fold]:
    own = settings[settings["cnn"] == cnn]
    for _, rows in own.groupby("machine", sort=True):
        train, test = (rows[rows["n_nodes"].isin(list(nodes))].reset_index(drop=True) for nodes in (trained_on, tested_on))
        if len(test) and (train["n_nodes"] > 1).any():
            yield _Fold("more nodes", train, test)


def _setting_folds(settings: pd.DataFrame, cnn: str) -> Iterator[_Fold]:
    own = settings[settings["cnn"] == cnn]
    for _, rows in own.groupby("machine", sort=True):
        if len(rows) < LEAST_SETTINGS:
            continue
        for fold in grouped_folds(rows.index.to_numpy(), N_FOLDS, FOLD_SEED):
            yield _Fold("settings", rows.iloc[fold.train].reset_index(drop=True), rows.iloc[fold.test].reset_index(drop=True))


def _network_folds(settings: pd.DataFrame) -> Iterator[_Fold]:
    for _, rows in settings.groupby("machine", sort=True):
        names = sorted(rows["cnn"].unique())
        if len(names) < LEAST_NETWORKS:
            continue
        for name in names:
            test = rows["cnn"] == name
            yield _Fold("networks", rows[~test].reset_index(drop=True), rows[test].reset_index(drop=True))


def _component_errors(recipes: Recipes, recipe: str, test: pd.DataFrame) -> pd.DataFrame:
    seconds: Mapping[str, np.ndarray] = recipes.component_s(recipe, test)
    parts = []
    for component in FITTED:
        measured = test[component.column].to_numpy(float)
        # One node has no all-reduce to predict.
        judged = (test["n_nodes"] > 1).to_numpy() if component.kind == "collective" else measured > 0.0
        errors = seconds[component.name][judged] / measured[judged] - 1.0
        parts.append(pd.DataFrame({"quantity": component.column, "relative_error": errors}))
    return pd.concat(parts, ignore_index=True)


def _output_errors(recipes: Recipes, recipe: str, test: pd.DataFrame) -> pd.DataFrame:
    found = predicted(recipes.times(recipe, test), run_grid(test), (FORM_OF[recipe],))
    return beside(test, found, OUTPUTS)[["quantity", "relative_error"]]
