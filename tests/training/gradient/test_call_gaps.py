"""Gaps between calls are learnt from whole steps, and explicit kernels have none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.training.gradient.call_gaps import CallGaps, by_autograd, fit_gaps

KEYS = ["cnn", "subbatch_size"]


def measured(n: int, *, kernels: tuple[str, str] = ("conv_forward", "lstm_backward")) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Steps of 3 + i calls of the one and of 4 of the other kernel, with a gap of 5 us each, and 20 us less for the second."""
    rng, calls, steps = np.random.default_rng(0), [], []
    for number in range(n):
        names = [kernels[0]] * (3 + number) + [kernels[1]] * 4
        times = rng.uniform(1e-4, 1e-3, len(names))
        calls += [
            {"cnn": f"c{number}", "subbatch_size": 1, "kernel": name, "time_s": time}
            for name, time in zip(names, times, strict=True)
        ]
        steps.append({"cnn": f"c{number}", "subbatch_size": 1, "step_s": times.sum() + 5e-6 * len(names) - 20e-6 * 4})
    return pd.DataFrame(calls), pd.DataFrame(steps)


def test_what_was_added_is_found() -> None:
    calls, steps = measured(12)
    found = fit_gaps(calls, steps, keys=KEYS)
    assert found is not None
    assert (found.layer_s, found.autograd_s) == pytest.approx((5e-6, -20e-6), rel=1e-6)
    runs = calls.assign(run=calls["cnn"].str.slice(1).astype(int))
    assert found.step_times(runs, calls["time_s"].to_numpy()) == pytest.approx(steps["step_s"].tolist(), rel=1e-9)
    assert CallGaps.from_dict(found.to_dict()) == found


def test_no_call_takes_less_than_nothing() -> None:
    calls = pd.DataFrame({"run": [0, 0, 1], "kernel": ["fc_forward", "gru_forward", "gru_forward"]})
    assert CallGaps(1e-6, -1e-4).step_times(calls, np.array([1e-5, 1e-5, 2e-4])) == pytest.approx([1.1e-5, 1.01e-4])


def test_explicit_kernels_and_few_steps_tell_nothing() -> None:
    assert fit_gaps(*measured(12, kernels=("convolution", "im2col")), keys=KEYS) is None
    assert fit_gaps(*measured(7), keys=KEYS) is None


def test_layers_that_autograd_takes_back() -> None:
    names = pd.Series(["conv_forward", "layer_norm_backward", "gru_forward", "softmax", "add_gradient", "attention_forward"])
    assert by_autograd(names).tolist() == [False, True, True, False, False, True]
