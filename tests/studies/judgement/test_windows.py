"""Windows around measured mini-batches, choices and pairs, by hand."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest

from mlperf.studies.judgement.windows import overshoot, pair_table, window_table
from mlperf.studies.trainer.predictions import MODEL, STEP_ALONE
from mlperf.studies.trainer.protocols import LEFT_OUT

NOISE = {"epoch_s": 0.02, "mean_minibatch_size": 0.02}
SIZES, EPOCHS = (100.0, 120.0, 122.0, 300.0), (50.0, 40.0, 39.5, 10.0)


def answers(sizes: tuple[float, ...], epochs: tuple[float, ...], alone: tuple[float, ...]) -> pd.DataFrame:
    """Four settings on 1, 2, 3, 4 nodes: measured `SIZES` and `EPOCHS`, and what is said of them."""
    said = {(MODEL, "mean_minibatch_size"): sizes, (MODEL, "epoch_s"): epochs, (STEP_ALONE, "epoch_s"): alone}
    key = {"protocol": LEFT_OUT, "machine": "ring", "cnn": "net", "n_gpus_per_node": 2, "subbatch_size": 4}
    rows = []
    for (method, quantity), place in product(said, range(4)):
        measured = (SIZES if quantity == "mean_minibatch_size" else EPOCHS)[place]
        row = {**key, "n_nodes": place + 1, "method": method, "quantity": quantity, "measured": measured}
        rows.append(row | {"predicted": said[method, quantity][place]})
    return pd.DataFrame(rows)


def test_every_centre_has_a_window_and_lonely_ones_do_not_count() -> None:
    found = window_table(answers(SIZES, EPOCHS, EPOCHS), NOISE)
    own = found[found["method"] == MODEL]
    assert [centre[0] for centre in own["centre"]] == [1, 2, 3]
    assert own["n_settings"].tolist() == [3, 3, 3]
    assert own["regret"].tolist() == [0.0, 0.0, 0.0]
    assert not own["outside"].any()


def test_the_model_chooses_by_predicted_size_and_the_gradient_is_told_what_the_window_holds() -> None:
    """The model takes the fourth for one of 110 samples: outside, but no regret. The gradient takes the first."""
    found = window_table(answers((100.0, 120.0, 122.0, 110.0), EPOCHS, (1.0, 2.0, 3.0, 0.5)), NOISE)
    own, alone = (found[found["method"] == method] for method in (MODEL, STEP_ALONE))
    assert {chosen[0] for chosen in own["chosen"]} == {4}
    assert own["regret"].tolist() == [0.0, 0.0, 0.0]
    assert own["outside"].all()
    assert {chosen[0] for chosen in alone["chosen"]} == {1}
    assert alone["regret"].to_numpy() == pytest.approx(50.0 / 39.5 - 1.0)
    assert not alone["outside"].any()


def test_where_no_predicted_size_lies_in_the_window_the_one_nearest_the_centre_is_taken() -> None:
    found = window_table(answers((20.0, 30.0, 40.0, 900.0), EPOCHS, EPOCHS), NOISE)
    assert {chosen[0] for chosen in found.loc[found["method"] == MODEL, "chosen"]} == {3}


@pytest.mark.parametrize(("size", "outside"), [(75.0, 0.0), (60.0, 0.2), (125.0, 0.0), (150.0, 0.2), (100.0, 0.0)])
def test_a_size_is_outside_by_its_distance_from_the_bound(size: float, outside: float) -> None:
    assert overshoot(size, 100.0) == pytest.approx(outside)


def test_every_pair_beyond_the_noise_is_there_once_and_a_tie_is_reversed() -> None:
    """Of three pairs that windows hold one differs by 1.3 %, less than the noise; the gradient says a tie of both others."""
    pairs = pair_table(answers(SIZES, (30.0, 40.0, 20.0, 10.0), (7.0, 7.0, 7.0, 7.0)), NOISE)
    assert [(row["first"][0], row["second"][0]) for row in pairs.to_dict("records")] == [(2, 1), (3, 1)]
    assert pairs["difference"].tolist() == pytest.approx([10.0 / 45.0, 10.5 / 44.75])
    assert not pairs["close"].any()
    assert (pairs[MODEL] < 0.0).tolist() == [True, False]
    assert pairs[STEP_ALONE].tolist() == [0.0, 0.0]


def test_close_pairs_differ_by_less_than_ten_percent() -> None:
    pairs = pair_table(answers(SIZES, EPOCHS, EPOCHS), {**NOISE, "epoch_s": 0.0})
    assert pairs["close"].tolist() == [False, False, True]
