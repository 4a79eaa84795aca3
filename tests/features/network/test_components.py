"""Columns of the components' terms against the paper's definitions, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.features.network.components import component_columns, image_elements, operation_columns
from mlperf.specs import load_cnn

ALEXNET, RESNET = load_cnn("alexnet"), load_cnn("resnet18")


def configs(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"cnn": ["a", "r"], "n_nodes": [4, 1], "n_gpus_per_node": [2, 3], "subbatch_size": [8, 1], **columns})


def test_sizes_are_those_of_each_rows_network() -> None:
    found = component_columns(configs(), {"a": ALEXNET, "r": RESNET})
    assert found["n_params"].tolist() == [ALEXNET.n_params, RESNET.n_params]
    assert found["params_share"].tolist() == [ALEXNET.n_params / 4, RESNET.n_params]
    assert found["image_elements"].tolist() == [8 * image_elements(ALEXNET), image_elements(RESNET)]
    assert image_elements(RESNET) == 3 * 224 * 224


def test_networks_by_position_are_the_same_as_by_name() -> None:
    by_name = component_columns(configs(), {"a": ALEXNET, "r": RESNET})
    by_position = component_columns(configs().assign(cnn=[0, 1]), [ALEXNET, RESNET])
    pd.testing.assert_frame_equal(by_name.drop(columns="cnn"), by_position.drop(columns="cnn"))


def test_without_a_probability_every_buffer_is_fresh_and_nodes_are_alike() -> None:
    found = component_columns(configs(), {"a": ALEXNET, "r": RESNET})
    assert found["n_buffers_added"].tolist() == [2, 3]
    assert found["barrier_buffers"].tolist() == [0.0, 0.0]


def test_buffers_of_an_update_and_of_the_slowest_node() -> None:
    """Buffers of an update, n p, and E(X_M - X_1) of two fair coins on four nodes, by counting all outcomes."""
    found = component_columns(configs(ready_probability=[0.5, 0.25]), {"a": ALEXNET, "r": RESNET})
    assert found["n_buffers_added"].tolist() == [1.0, 0.75]
    at_most = np.array([0.25, 0.75, 1.0])
    largest = 2.0 - float(np.sum(at_most[:-1] ** 4))
    assert found["barrier_buffers"].tolist() == [pytest.approx(largest - 1.0), 0.0]


def test_operations_alone_are_of_vectors_or_of_images() -> None:
    vectors = operation_columns(pd.DataFrame({"n_params": [10, 20]}))
    assert vectors["params_share"].tolist() == [10, 20]
    images = operation_columns(pd.DataFrame({"subbatch_size": [2], "input_size": [300]}))
    assert images["image_elements"].tolist() == [600]
