"""Pages of models fitted to tables of systems."""

from __future__ import annotations

import lzma
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from planted_constants import planted_model
from rich.console import Console

from mlperf.report.systems.fits import (
    constants_answer,
    constants_sections,
    exchange_answer,
    exchange_sections,
    fit_answer,
    fit_sections,
    parts_answer,
    parts_sections,
)
from mlperf.report.text.views import WIDE, section_text
from mlperf.studies.model_files import load_model
from mlperf.training.collectives.exchange_forms import FORMS
from mlperf.training.collectives.train_exchange import train_exchange
from mlperf.training.systems.parts_model import PartsModel
from mlperf.training.systems.train_system import train_system

ROWS = pd.DataFrame(list(product([1, 2, 4, 8], [4, 16, 64])), columns=["n_gpus", "subbatch_size"]).assign(n_gpus_per_node=4)
STORED = Path(__file__).parents[2] / "reference" / "models" / "step-parts.json.xz"
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
    assert "needs n_params" in set(told["why"])


def test_one_count_of_gpus_is_told_as_such() -> None:
    for n_gpus, told in ((4, "measured on 4 GPUs"), (1, "measured on 1 GPU")):
        one = ROWS.assign(n_gpus=n_gpus)[:3]
        assert fit_answer(train_system(one.assign(step_s=[1.0, 2.0, 8.0]))).text().endswith(told)


def test_constants_say_where_the_network_comes_from() -> None:
    answer = str(constants_answer(planted_model()))
    assert "network datasheet" in answer
    assert next(section.title for section in constants_sections(planted_model())) == "Constants of a machine"


def test_parts_tell_their_left_out_error(tmp_path: Path) -> None:
    path = tmp_path / "parts.json"
    path.write_bytes(lzma.decompress(STORED.read_bytes()))
    model = load_model(path)
    assert isinstance(model, PartsModel)
    assert "measured on 1 to 2 processes" in str(parts_answer(model))
    table = parts_sections(model)[1].frame
    assert table is not None
    assert set(table["component"]) == {"input", "forward", "backward", "optimizer", "step_std"}


def test_every_form_is_listed_and_the_paper_is_rejected() -> None:
    n, size = (each.ravel() for each in np.meshgrid([2.0, 4.0, 8.0], 2.0 ** np.arange(12, 28, 2)))
    time_s = 2.0 * (n - 1.0) * (1e-5 + size / (n * 2e10))
    model = train_exchange(pd.DataFrame({"n_gpus": n, "size_bytes": size, "time_s": time_s}))
    console = Console(width=WIDE, no_color=True)
    text = "\n".join(section_text(section, console) for section in exchange_sections(model))
    for form in FORMS:
        assert form.name in text
    (paper,) = [line for line in text.splitlines() if line.strip().startswith("paper ") and "with" not in line]
    assert "rejected" in paper
    assert f"{model.r2_adj:.3f} about the mean" in text
    assert f"{model.r2_uncentred:.3f} about zero" in text
    answer = exchange_answer(model)
    assert "rejected" in str(answer)
    assert model.measured.form.name in str(answer)
