"""Names of marks and what they mean."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.planning.advice.facts.phases import phases_by_role, time_in


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("load", "load"),
        ("data_wait", "load"),
        ("next_batch", "load"),
        ("preprocess", "load"),
        ("allreduce", "exchange"),
        ("all_reduce_gradients", "exchange"),
        ("grad_sync", "exchange"),
        ("optimizer_step", "update"),
        ("update", "update"),
        ("forward", "forward"),
        ("backward", "backward"),
        ("gc", None),
        ("metadata_check", None),
    ],
)
def test_roles(name: str, role: str | None) -> None:
    assert phases_by_role((name,)) == ({role: [name]} if role else {})


def test_several_marks_of_a_role_add_up() -> None:
    steps = pd.DataFrame({"load_s": [1.0, 2.0], "decode_s": [0.5, 0.5]})
    assert phases_by_role(("load", "decode")) == {"load": ["load", "decode"]}
    assert time_in(steps, ["load", "decode"]).tolist() == [1.5, 2.5]
    assert time_in(steps, []).tolist() == [0.0, 0.0]
