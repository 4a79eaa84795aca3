"""Work of a step counted by hand, layer by layer."""

from __future__ import annotations

import pandas as pd

from mlperf.features.network.steps import step_columns
from mlperf.specs import kernel_calls, load_cnn
from mlperf.specs.kernels.kernels import GEMM_KERNELS

ALEXNET = load_cnn("alexnet")


def test_products_of_a_step_are_those_of_its_kernels() -> None:
    found = step_columns(pd.DataFrame({"cnn": ["a", "a"], "subbatch_size": [1, 3]}), {"a": ALEXNET})
    calls = kernel_calls(ALEXNET, 3)
    products = [call for call in calls if call.kernel in GEMM_KERNELS]
    assert found["step_flops"][1] == sum(2 * call.groups * call.m * call.n * call.k for call in products)
    moved = sum(4 * call.groups * (call.m * call.k + call.k * call.n + call.m * call.n) for call in products)
    assert found["step_bytes"][1] == moved + sum(call.access_bytes for call in calls if call.kernel not in GEMM_KERNELS)
    assert found["weight_bytes"].tolist() == [4.0 * ALEXNET.n_params] * 2
    assert 2.5 < found["step_flops"][1] / found["step_flops"][0] < 3.5
