"""Fitted servers as people see them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from mlperf.planning.systems.fitted import predict_fitted
from mlperf.report.systems.fitted import fitted_answer
from mlperf.report.systems.servers import servers_answer, servers_sections, speeds_sections
from mlperf.systems.coupling.queues import closed_queue
from mlperf.training.systems.server_fit import fit_servers
from mlperf.training.systems.server_model import ServerModel

TIMES = {"one": (0.1, 0.02, 2e6), "two": (0.3, 0.05, 5e6), "idle": (1.0, 0.0, 1e5)}


@pytest.fixture(scope="module")
def model() -> ServerModel:
    counts, rng = np.arange(1, 9), np.random.default_rng(1)
    tables = [
        pd.DataFrame(
            {
                "cnn": name,
                "n_workers": counts,
                "updates_per_s": closed_queue(think, service, counts).throughput_per_s * rng.lognormal(0.0, 0.01, 8),
                "n_params": params,
            }
        )
        for name, (think, service, params) in TIMES.items()
    ]
    return fit_servers(pd.concat(tables), features=("n_params",))


def test_every_group_is_shown_and_who_taught_nothing_is_named(model: ServerModel) -> None:
    about, times, features, aside = servers_sections(model)
    assert about.frame is not None
    assert about.frame["n_rows"].tolist() == [24]
    assert times.frame is not None
    assert times.frame["cnn"].tolist() == ["one", "two", "idle"]
    assert features.title == "Service time from features of 2 groups"
    assert features.frame is not None
    assert features.frame["service_s_per_unit"].to_numpy() == pytest.approx([1e-8], rel=0.1)
    assert aside.text == "Set aside, service time not known: idle."


def test_the_answer_says_where_servers_are_full(model: ServerModel) -> None:
    told = servers_answer(model)
    assert told.asked == "3 groups of workers at parameter servers"
    assert re.search(r"full from 6\.\d to 7\.\d workers on \(1 group without a sign of it\)", told.found)
    assert "worker counts left out are missed by" in told.found


def test_speeds_have_a_row_each(model: ServerModel) -> None:
    (section,) = speeds_sections(model.predict(pd.DataFrame({"cnn": "one", "n_workers": [1, 2, 4]})))
    assert section.frame is not None
    assert len(section.frame) == 3


@pytest.mark.parametrize(("service_s", "told"), [(0.02, "full from "), (0.0, "the server never fills")])
def test_groups_of_a_sub_batch_are_predicted_by_its_text(service_s: float, told: str) -> None:
    """A column that tells groups apart is text, even where the text is a size."""
    counts = np.arange(1, 9)
    speeds = closed_queue(0.1, service_s, counts).throughput_per_s
    model = fit_servers(pd.DataFrame({"subbatch_size": "32", "n_workers": counts, "updates_per_s": speeds}))
    text = fitted_answer(predict_fitted(model, pd.DataFrame({"subbatch_size": ["32"], "n_workers": [4]}))).text()
    assert text.startswith("parameter-server, n workers 4, subbatch size 32: ")
    assert told in text
