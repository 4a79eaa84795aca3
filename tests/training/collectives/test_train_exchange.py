"""The data choose: a known ring, a change of algorithm, two machines; R² with and without the mean."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import FitError
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.collectives.exchange_rows import terms_frame
from mlperf.training.collectives.train_exchange import paper_r2, train_exchange


def table(time_s, counts=(2.0, 4.0, 8.0, 16.0, 32.0), seed: int = 0) -> pd.DataFrame:
    """Times of a function of count and bytes with 2 % noise."""
    n, size = (each.ravel() for each in np.meshgrid(counts, 2.0 ** np.arange(12, 28)))
    noise = np.exp(0.02 * np.random.default_rng(seed).standard_normal(len(n)))
    return pd.DataFrame({"n_gpus": n, "size_bytes": size, "time_s": time_s(n, size) * noise})


def ring(n, size):
    return 2.0 * (n - 1.0) * (1e-5 + size / (n * 2e10))


def test_a_ring_is_chosen_and_carries_to_more_participants() -> None:
    model = train_exchange(table(ring))
    assert model.other.form.name == "ring"
    n, size = np.array([64.0, 128.0, 64.0]), np.array([1e4, 1e6, 1e9])
    assert model.predict(n, size) == pytest.approx(ring(n, size), rel=0.03)
    paper = model.forms[0]
    assert (paper.name, paper.verdict) == ("paper", "rejected")
    assert paper.error > 0.5


def test_the_papers_form_is_kept_where_it_is_true() -> None:
    model = train_exchange(table(lambda n, size: (2e-10 * np.log2(n) + 1e-10) * size))
    assert model.measured.form.name == "paper"
    assert model.forms[0].verdict == "chosen"


def test_a_change_of_the_algorithm_is_chosen() -> None:
    def changed(n, size):
        return np.where(n > 8.0, 4.0, 1.0) * (1e-10 * np.log2(n) * size + 1e-10 * size + 1e-5 * np.log2(n))

    model = train_exchange(table(changed))
    assert model.measured.form.name == "change at a count"


def test_machines_are_told_apart() -> None:
    def two_level(n, size):
        volume = 2.0 * (n - 1.0) / n * size
        return np.where(n > 8.0, volume / 1e10 + 1e-5 * np.log2(n / 8.0 + 1e-12), volume / 1e11) + 4e-6 * np.log2(n) + 1e-6

    model = train_exchange(table(two_level), n_gpus_per_node=8)
    assert model.other.form.name.startswith("two-level")
    assert model.predict(64.0, 1e8) == pytest.approx(two_level(64.0, 1e8), rel=0.05)


def test_few_counts_are_said_to_be_an_assumption() -> None:
    model = train_exchange(table(ring, counts=(2.0, 4.0)))
    assert any("assumed" in note for note in model.notes)
    assert np.isfinite(model.predict(8.0, 1e6))


@pytest.mark.parametrize("true_form", ["tree", "halving-doubling", "paper"])
def test_intervals_beyond_one_count_hold_every_form_that_fits_alike(true_form: str) -> None:
    """Of two participants a ring, a tree, halving and doubling are one: what 64 take lies somewhere among them."""
    latency, per_byte = 2e-5, 2e-10
    laws = {
        "tree": lambda n, size: 2.0 * np.ceil(np.log2(n)) * (latency + size * per_byte),
        "halving-doubling": lambda n, size: 2.0 * np.log2(n) * latency + 2.0 * (n - 1.0) / n * size * per_byte,
        "paper": lambda n, size: np.log2(n) * (latency + 0.3 * size * per_byte) + 0.5 * size * per_byte,
    }
    model = train_exchange(table(laws[true_form], counts=(2.0,)))
    assert len(model.alike) > 1
    asked = model.rows["S"].to_numpy(float)
    found, truth = model.predict_interval(64.0, asked), laws[true_form](64.0, asked)
    assert ((found.lower <= truth) & (truth <= found.upper)).all()
    here = model.predict_interval(2.0, asked)
    assert here.upper * here.lower == pytest.approx(model.predict(2.0, asked) ** 2)
    again = ExchangeModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.predict_interval(64.0, asked).upper == pytest.approx(found.upper)


def test_enough_counts_choose_the_form_and_no_other_widens_it() -> None:
    model = train_exchange(table(ring))
    assert model.alike == ()
    assert "alike" not in model.to_dict()


def test_too_little_is_refused() -> None:
    with pytest.raises(FitError, match="2 configurations"):
        train_exchange(pd.DataFrame({"n_gpus": [2, 4], "size_bytes": [8, 16], "time_s": [1.0, 2.0]}))
    with pytest.raises(FitError, match="of 1 sizes"):
        train_exchange(pd.DataFrame({"n_gpus": [2, 4, 8], "size_bytes": [8, 8, 8], "time_s": [1.0, 2.0, 3.0]}))


def test_r2_about_the_mean_and_about_zero() -> None:
    """Worked by hand: fits 1.0 and 1.0 of 0.9 and 1.1 leave 0.02 of 0.02 about the mean and of 2.02 about zero."""
    columns = terms_frame([2.0, 2.0, 4.0], 1.0, 1.0)
    centred, uncentred = paper_r2(columns, np.array([0.9, 1.1, 1.0]))
    assert centred == pytest.approx(-1.0)
    assert uncentred == pytest.approx(1.0 - 0.02 / (3.02 / 3.0))
