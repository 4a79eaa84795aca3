"""Errors of steps that are compared: of the network, of each sub-batch, of each setting, as wide as what was left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.planning.network_errors import network_errors, setting_errors

N_DRAWS = 20_000
SIZES = (4, 4, 7, 8, 64)


def left_out(between: float, within: float, n_networks: int = 60, n_each: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    common = between * rng.standard_normal(n_networks)
    own = within * rng.standard_normal((n_networks, n_each))
    names = np.repeat([f"net{number}" for number in range(n_networks)], n_each)
    return pd.DataFrame({"cnn": names, "log_residual": (common[:, None] + own).ravel()})


def drawn(residuals: pd.DataFrame, sizes: tuple[int, ...] = SIZES, cnn: int = 0) -> np.ndarray:
    configs = pd.DataFrame({"cnn": cnn, "subbatch_size": sizes})
    return network_errors(residuals, configs, N_DRAWS, np.random.default_rng(1))


def test_errors_are_as_wide_as_those_left_out_and_what_is_alike_errs_alike() -> None:
    residuals = left_out(0.10, 0.04)
    found = drawn(residuals)
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    # The mean of four rows of a network still holds a quarter of their own variance.
    wanted = np.hypot(residuals["log_residual"].std(), 0.5 * 0.04)
    np.testing.assert_allclose(found.std(axis=0), wanted, rtol=0.05)
    near, far = ((found[:, 3] - found[:, place]).std() for place in (2, 4))
    assert far == pytest.approx(np.sqrt(2.0) * 0.04, rel=0.1)
    assert near < 0.5 * far


def test_networks_of_which_one_step_was_left_out_tell_only_what_all_have_in_common() -> None:
    found = drawn(left_out(0.1, 0.0, n_each=1))
    assert (np.ptp(found, axis=1) == 0.0).all()
    assert found.std() == pytest.approx(0.1, rel=0.25)


def test_without_steps_left_out_there_are_no_errors() -> None:
    assert not drawn(left_out(0.1, 0.1).iloc[:0]).any()


def test_each_network_has_an_error_of_its_own() -> None:
    configs = pd.DataFrame({"cnn": [2, 5, 2], "subbatch_size": [4, 4, 4]})
    found = network_errors(left_out(0.1, 0.0), configs, N_DRAWS, np.random.default_rng(1))
    np.testing.assert_array_equal(found[:, 0], found[:, 2])
    assert abs(np.corrcoef(found[:, 0], found[:, 1])[0, 1]) < 0.05


def runs_left_out(own: float, of_steps: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    keys = pd.DataFrame(
        [(cnn, size) for cnn in "abcdefghij" for size in (2, 4) for _ in range(9)], columns=["cnn", "subbatch_size"]
    )
    common = np.repeat(of_steps * rng.standard_normal(20), 9)
    return keys.assign(gpu_iteration_s=common + own * rng.standard_normal(len(keys)))


def drawn_settings(residuals: pd.DataFrame, nodes: list[int], gpus: list[int], sizes: list[int], cnn: int = 0) -> np.ndarray:
    configs = pd.DataFrame({"cnn": cnn, "n_nodes": nodes, "n_gpus_per_node": gpus, "subbatch_size": sizes})
    return setting_errors(residuals, configs, N_DRAWS, np.random.default_rng(1))


def test_settings_of_one_step_err_by_themselves_as_far_as_those_left_out_did_about_their_step() -> None:
    found = drawn_settings(runs_left_out(0.012), [1, 1, 2, 4, 5, 6], [1, 2, 1, 1, 1, 1], [4, 4, 4, 4, 4, 4])
    np.testing.assert_allclose(found.std(axis=0), 0.012, rtol=0.1)
    assert np.abs(np.corrcoef(found[:, :4].T) - np.eye(4)).max() < 0.03
    far, near = ((found[:, 3] - found[:, place]).std() for place in (2, 4))
    assert near < 0.5 * far


def test_sub_batches_of_a_setting_share_its_error() -> None:
    found = drawn_settings(runs_left_out(0.012), [3, 3], [2, 2], [4, 16])
    np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_errors_of_settings_need_sub_batches_and_more_than_one_run_of_a_step() -> None:
    table = runs_left_out(0.012)
    for unknown in (table.drop(columns="subbatch_size"), table.iloc[:0], table.drop_duplicates(["cnn", "subbatch_size"])):
        assert not drawn_settings(unknown, [1, 2], [1, 1], [4, 4]).any()
