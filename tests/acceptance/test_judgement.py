"""The bundled judgement: its page, its runs and the list of what is missed say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from mlperf.datasets.campaigns.trainer_runs import TrainerRuns, settings_table
from mlperf.studies.judgement import judgement_folder, plan_judgement, read_judgement
from mlperf.studies.judgement.scores import error_table, network_errors
from mlperf.studies.judgement.seen import judged_splits
from mlperf.studies.trainer import TrainerLimits
from mlperf.studies.trainer.predictions import MODEL, beside, predict_settings, train_split
from mlperf.studies.trainer.protocols import LEFT_OUT, Split

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "judgement.md"
MACHINE, QUANTITIES = "ring", ("epoch_s", "update_iteration_s", "mean_minibatch_size")
SAME = 0.1
"""Relative difference that other versions of the packages may make of an error."""


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def commit(page: str) -> str:
    (found,) = set(re.findall(r"make_judgement.py page ([0-9a-f]{40})", page))
    return str(found)


@pytest.fixture(scope="module")
def runs(commit: str) -> TrainerRuns:
    """Complete, or `read_judgement` refuses."""
    return read_judgement(plan_judgement(commit), judgement_folder(commit))


def test_what_the_page_misses_is_what_is_said_to_be_missed(page: str, judgement_limits: TrainerLimits) -> None:
    missed = dict(re.findall(r"^\| (.+) \| ([\d.]+) \| .* \| \*\*no\*\* \|$", page, re.MULTILINE))
    assert {gate: float(value) for gate, value in missed.items()} == dict(judgement_limits.missed)


def test_errors_on_the_page_are_those_of_training_and_predicting_again(page: str, runs: TrainerRuns) -> None:
    """One machine, all that needs no kernels: four nodes from one and two, all networks from one."""
    splits = [split for split in judged_splits(runs.table) if split.machine == MACHINE and split.protocol != LEFT_OUT]
    assert len(splits) == 1 + 6
    errors = error_table(network_errors(pd.concat([own_answers(split, runs) for split in splits])))
    own = errors[errors["machine"] == MACHINE].set_index(["protocol", "quantity"])["error"]
    for protocol in own.index.get_level_values("protocol").unique():
        (line,) = re.findall(rf"^\| {protocol} \| {MACHINE} \| \*\*{MODEL}\*\* \| (.*) \|$", page, re.MULTILINE)
        shown = pd.Series([float(cell.split("/")[0]) / 100.0 for cell in line.split("|")[:3]], list(QUANTITIES))
        for quantity in QUANTITIES:
            assert own[protocol, quantity] == pytest.approx(shown[quantity], rel=SAME, abs=5e-4), (protocol, quantity)


def own_answers(split: Split, runs: TrainerRuns) -> pd.DataFrame:
    """What the judged model says of a split, without the baselines beside it and without intervals."""
    settings = settings_table(split.test)
    found = predict_settings(train_split(split, runs, None, left_out_runs=False), settings, runs.cnns, n_draws=2)
    return pd.concat([beside(settings, name, MODEL, getattr(found, name)) for name in QUANTITIES]).assign(**split.key)
