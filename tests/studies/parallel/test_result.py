"""A judgement shows its gates."""

from __future__ import annotations

import pandas as pd

from mlperf.studies.parallel.result import ParallelJudgement


def test_gates_are_the_table_and_everything_is_in_the_document() -> None:
    gates = pd.DataFrame({"gate": ["a"], "met": [True]})
    found = ParallelJudgement(pd.DataFrame({"error": [0.1]}), gates, 0.02, "real")
    assert found.to_frame() is gates
    assert set(found.to_dict()) == {"rows", "gates", "noise", "mode"}
