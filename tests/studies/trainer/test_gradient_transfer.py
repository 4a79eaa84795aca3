"""Work of a step by hand, and the formula on steps that obey it."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from mlperf.specs import CnnSpec
from mlperf.specs.kernels.kernels import kernel_calls
from mlperf.studies.trainer.gradient_transfer import balance_errors, call_work, step_work, transfer_errors

PERCEPTRON = CnnSpec.from_sprint("perceptron", 1, (3, 5), pools_after=(), n_conv=0)


def test_a_product_counts_operations_and_its_three_matrices() -> None:
    """B = 2: the forward product is 2 x 5 x 3: 60 operations and (6 + 15 + 10) numbers of 4 bytes, 8 operations a byte."""
    forward = next(call for call in kernel_calls(PERCEPTRON, 2) if call.kernel == "fc")
    assert call_work(forward) == pytest.approx(60 + 8 * 4 * 31)


def test_a_memory_kernel_counts_its_bytes() -> None:
    softmax = next(call for call in kernel_calls(PERCEPTRON, 2) if call.kernel == "softmax")
    assert call_work(softmax) == pytest.approx(8 * 4 * 5 * 2)


def test_steps_that_obey_the_formula_have_no_error() -> None:
    other = CnnSpec.from_sprint("other", 10, (3, 4, 6, 7), pools_after=(1,), n_conv=2)
    cnns = {"perceptron": PERCEPTRON, "other": other}
    rows = [
        {"cnn": name, "subbatch_size": size, "step_s": 3e-11 * step_work(cnn, size)}
        for name, cnn in cnns.items()
        for size in (4, 8)
    ]
    campaign = SimpleNamespace(table=lambda _: pd.DataFrame(rows), cnns=cnns)
    found = transfer_errors(campaign, "perceptron", (4, 8))  # type: ignore[arg-type]
    assert found["max_error"].to_numpy() == pytest.approx([0.0, 0.0], abs=1e-12)
    assert found.set_index("cnn")["n_convolutions"].to_dict() == {"other": 2, "perceptron": 0}


def test_the_balance_that_steps_obey_has_no_error() -> None:
    """Steps made with 5 operations a byte: at 5 every network predicts every other one."""
    other = CnnSpec.from_sprint("other", 10, (3, 4, 6, 7), pools_after=(1,), n_conv=2)
    third = CnnSpec.from_sprint("third", 12, (3, 9, 5), pools_after=(1,), n_conv=1)
    cnns = {"perceptron": PERCEPTRON, "other": other, "third": third}
    rows = [
        {"cnn": name, "subbatch_size": size, "step_s": 3e-11 * step_work(cnn, size, 5.0)}
        for name, cnn in cnns.items()
        for size in (4, 8)
    ]
    campaign = SimpleNamespace(table=lambda _: pd.DataFrame(rows), cnns=cnns)
    found = balance_errors(campaign, ("third",), (2.0, 5.0, 20.0), (4, 8))  # type: ignore[arg-type]
    assert found["mean_error"][1] == pytest.approx(0.0, abs=1e-12)
    assert found["mean_error"].argmin() == 1
