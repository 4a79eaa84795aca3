"""Answers about made runs, with errors that are known: what a judgement is added up from."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

if TYPE_CHECKING:
    from made_once import Once

    from mlperf.datasets.campaigns.trainer_runs import TrainerRuns
    from mlperf.studies.judgement import JudgementPlan

# Every run of the tests imports this file: the studies, and scikit-learn with them, are imported where a test asks for them.
COMMIT = "0123456789abcdef0123456789abcdef01234567"
HALF_WIDTH = 0.02
REPEATED = 1.002
"""The second run of a setting over the first, of the one network that is run twice on each machine."""


@pytest.fixture(scope="session")
def judgement_plan(made_once: Once) -> JudgementPlan:
    """The plan of a made-up commit."""
    from mlperf.studies.judgement import plan_judgement

    plan: JudgementPlan = made_once("judgement-plan", lambda: plan_judgement(COMMIT))
    return plan


@pytest.fixture
def judged_runs(judgement_plan: JudgementPlan) -> TrainerRuns:
    """Every planned run."""
    from mlperf.datasets.campaigns.trainer_runs import TrainerRuns

    rows = []
    for number, run in enumerate(judgement_plan.runs, start=1):
        setting = run.n_nodes, run.n_gpus_per_node, run.subbatch_size
        values = {name: value * (REPEATED if run.repeat == 2 else 1.0) for name, value in measured(setting).items()}
        keys = dict(zip(("n_nodes", "n_gpus_per_node", "subbatch_size"), setting, strict=True))
        row: dict[str, Any] = {"campaign": run.machine, "machine": run.machine, "run": number, "cnn": run.cnn, **keys, **values}
        rows.append(row | {"load": 0.5, "overshoot_mean_share": 0.01, "n_updates": run.n_updates})
    return TrainerRuns(pd.DataFrame(rows), pd.DataFrame(), judgement_plan.cnns, ())


@pytest.fixture
def judged_rows(judgement_plan: JudgementPlan) -> pd.DataFrame:
    """Every answer about every setting, each method's off by a relative error of its own."""
    from mlperf.studies.judgement.answers import METHODS, NEIGHBOUR, PAPER
    from mlperf.studies.judgement.plan import SETTINGS
    from mlperf.studies.trainer.predictions import MODEL, STEP_ALONE
    from mlperf.studies.trainer.protocols import LEFT_OUT, NODES, ONE

    off = {MODEL: 0.01, STEP_ALONE: -0.2, PAPER: 0.05, NEIGHBOUR: 0.3}
    rows = []
    names = list(judgement_plan.cnns)
    twice = {(run.machine, run.cnn) for run in judgement_plan.runs if run.repeat == 2}
    for machine, cnn, setting in product(judgement_plan.machines, names, SETTINGS):
        key = {
            "machine": machine.exchange,
            "cnn": cnn,
            **dict(zip(("n_nodes", "n_gpus_per_node", "subbatch_size"), setting, strict=True)),
        }
        n_repeats = 2 if (machine.exchange, cnn) in twice else 1
        splits = [(LEFT_OUT, f"all but {cnn}"), *((ONE, other) for other in names if other != cnn)]
        for protocol, trained_on in [*splits, *([(NODES, "all networks")] if setting[0] == 4 else [])]:
            for method, (name, value) in product(METHODS, measured(setting).items()):
                if method == STEP_ALONE and name != "epoch_s":
                    continue
                said = value * (1.0 + off[method])
                row = {**key, "protocol": protocol, "trained_on": trained_on, "method": method, "quantity": name}
                row |= {"measured": value, "predicted": said, "relative_error": off[method], "n_repeats": n_repeats}
                row |= {"lower": said * (1.0 - HALF_WIDTH), "upper": said * (1.0 + HALF_WIDTH)} if method == MODEL else {}
                rows.append(row | {"inside": 1.0, "in_domain": True, "exchange_told": protocol != NODES})
    return pd.DataFrame(rows)


def measured(setting: tuple[int, int, int]) -> dict[str, float]:
    """Outputs of a setting: more nodes take longer for the same samples, and larger sub-batches less."""
    from mlperf.systems.sprint.outputs import OUTPUTS

    n_nodes, n_gpus, subbatch = setting
    samples = n_nodes * n_gpus * subbatch
    gpu_s = 0.01 * (subbatch + 1.0 + 0.2 * n_nodes)
    values = {"gpu_iteration_s": gpu_s, "update_iteration_s": gpu_s, "epoch_s": 1000.0 * gpu_s / samples}
    return {name: {**values, "mean_minibatch_size": float(samples)}[name] for name in OUTPUTS}
