"""The page of a fitted system names its error first, and the rule of thumb that comes nearest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from mlperf.report.systems.fits import fit_answer, fit_sections
from mlperf.training.systems.train_system import train_system

ROWS = pd.DataFrame(list(product([1, 2, 4, 8], [4, 16, 64])), columns=["n_gpus", "subbatch_size"]).assign(n_gpus_per_node=4)
STEPS = 1e-3 * ROWS["subbatch_size"] + 0.02 * (ROWS["n_gpus"] - 1) / ROWS["n_gpus"] + 0.01 * (ROWS["n_gpus"] > 4)


def test_the_answer_names_error_and_nearest_rule() -> None:
    text = fit_answer(train_system(ROWS.assign(step_s=STEPS))).text()
    assert text.startswith("12 steps of data-parallel: left out, they are missed by 0.00 % on average; best rule of thumb: ")
    assert ", rejected; measured on 1 to 8 GPUs" in text


def test_costs_rules_and_reasons_are_shown() -> None:
    sections = fit_sections(train_system(ROWS.assign(step_s=STEPS)))
    costs = next(section.frame for section in sections if section.title == "What each term costs")
    assert np.isclose(costs.set_index("term")["cost_s"]["tokens"], 1e-3)
    told = next(section.frame for section in sections if section.title == "Terms that the rows cannot tell")
    assert "the table has no column that it needs" in set(told["why"])


def test_one_count_of_gpus_is_told_as_such() -> None:
    one = ROWS.assign(n_gpus=4)[:3]
    assert "measured on 4.000 GPUs" in fit_answer(train_system(one.assign(step_s=[1.0, 2.0, 8.0]))).text()
