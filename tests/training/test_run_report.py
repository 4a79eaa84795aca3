"""What runs say of a model: every form that predicts is told, and errors of networks left out as fractions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.datasets import Campaign
from mlperf.report.pages.model_answers import model_answer, report_answer
from mlperf.report.pages.models import report_sections
from mlperf.specs import load_cnn
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.training.model import Model
from mlperf.training.reported_model import model_report
from mlperf.training.run_model import layer_kinds
from mlperf.training.run_report import left_out_runs, run_report

pytestmark = pytest.mark.slow


def test_every_cost_is_told_the_gradient_first(runs_model: Model) -> None:
    found = run_report(runs_model)
    assert found is not None
    assert runs_model.runs is not None
    names = list(dict.fromkeys(found.forms["component"]))
    assert names[0] == "compute_gradient"
    assert {name.partition(":")[0] for name in names[1:]} == set(runs_model.runs.fits.costs)
    assert {"allreduce: payload", "allreduce: meeting"} <= set(names)
    assert found.forms.groupby("component")["weight"].sum().between(0.99, 1.0001).all()


def test_errors_are_relative_and_those_of_the_first_line(runs_model: Model) -> None:
    assert runs_model.runs is not None
    table = left_out_runs(runs_model.runs, runs_model.score.step_residuals("learnt")).set_index("output")
    errors = np.expm1(-runs_model.runs.residuals["epoch_s"]).abs()
    assert table.loc["epoch_s", "max_error"] == pytest.approx(errors.max())
    assert table.loc["epoch_s", "mean_error"] == pytest.approx(errors.groupby(runs_model.runs.residuals["cnn"]).mean().mean())
    told = f"epochs of 5 networks left out are missed by {100 * table.loc['epoch_s', 'mean_error']:.2f} %"
    assert told in str(model_answer(runs_model).found)


def test_a_stored_model_reports_what_predicts(runs_model: Model) -> None:
    report = model_report(runs_model)
    titles = [section.title for section in report_sections(report)]
    assert "Components in asynchronous runs: forms by Akaike weight" in titles
    assert "Runs of each of 5 networks, predicted from the others" in titles
    assert "epochs of 5 networks left out are missed by" in str(report_answer(report).found)
    text = report_sections(report)[0].text
    assert "Largest errors of the terms that explain" in text
    assert "Runs are predicted by the forms in the table of asynchronous runs." in text
    assert model_report(runs_model, ["sum_gradient"]).runs is None


def test_only_networks_that_ran_count_as_trained_on(runs_campaign: Campaign) -> None:
    tables: dict[str, Any] = {}
    for name in ("components", "runs", "details"):
        table = getattr(runs_campaign, name)
        tables[name] = table[table["cnn"] == "cnn00"] if "cnn" in table else table
    runs = set(tables["components"]["run"])
    tables["details"] = runs_campaign.details[runs_campaign.details["run"].isin(runs)]
    one = mlperf.train(replace(runs_campaign, **tables), scored=False, left_out_runs=False)
    assert one.cnns == ("cnn00",)


def test_kinds_of_layers_with_work_of_their_own(runs_campaign: Campaign) -> None:
    plain = layer_kinds(runs_campaign.cnns.values())
    assert "conv" in plain
    assert "activation" not in plain
    assert "conv in groups" in layer_kinds([load_cnn("mobilenet_v3_large")])
    branches = (Layer("a", "conv", n_maps=4, filter_size=1), Layer("b", "part", n_maps=2), Layer("c", "concat", inputs=("a", "b")))
    assert layer_kinds([CnnSpec("joined", 3, 8, branches)]) == ("conv",)


def test_runs_of_another_network_and_runs_without_their_components_are_refused(runs_campaign: Campaign) -> None:
    runs = runs_campaign.runs.copy()
    runs.loc[3, "n_params"] = 12
    with pytest.raises(DataError, match=f"got n_params 12 in run {runs.loc[3, 'run']}, expected the"):
        mlperf.train(replace(runs_campaign, runs=runs))
    with pytest.raises(DataError, match=r"neither components\.csv beside it nor kernels\.csv"):
        mlperf.train(replace(runs_campaign, components=None))
