"""Planted oddities are told, and a plain table is not complained of."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.collect.canonical.flags import canonical_flags


def table(cost_s: dict[float, float], noise: float = 0.0) -> pd.DataFrame:
    """Rows of a forward pass: seconds of a multiply-add by working set."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {
                "kind": "fc", "pass": "forward", "n_connections": int(size / 4), "n_neurons": 8, "working_set_bytes": size,
                "n_threads": 1, "round": number, "sequence": number,
                "time_s": cost * size / 4 * np.exp(noise * rng.standard_normal()),
            }
            for size, cost in cost_s.items()
            for number in range(1, 6)
        ]
    )  # fmt: skip


def together(gain: float, count: int) -> pd.DataFrame:
    """One pair of rows: alone, and ``count`` at once doing ``gain`` times the work of one."""
    row = {
        "kind": "fc",
        "pass": "forward",
        "n_connections": 99,
        "n_neurons": 9,
        "working_set_bytes": 400.0,
        "sequence": 100 + count,
    }
    return pd.DataFrame(
        [row | {"n_threads": 1, "round": 0, "time_s": 1.0}, row | {"n_threads": count, "round": 1, "time_s": count / gain}]
    )


def test_a_plain_table_has_no_flags() -> None:
    assert canonical_flags(pd.concat([table({1e4: 1e-10, 1e7: 2e-10}), together(1.9, 2)])) == ()


def test_noise_falling_cost_and_falling_gain_are_told() -> None:
    assert "vary by more than 2 %" in canonical_flags(table({1e4: 1e-10}, noise=0.3))[0]
    assert "costs less in larger working sets" in canonical_flags(table({1e4: 4e-10, 1e7: 1e-10}))[0]
    told = canonical_flags(pd.concat([table({1e4: 1e-10}), together(1.8, 2), together(1.2, 3)]))
    assert told == ("3 processes do 1.20 times the work of one, 2 did 1.80 times: too few cores",)
