"""The protocol of steps on a GPU is read as it is written; what is wrong in it is named."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.studies.judgement.steps import RULES, StepsJudgement, read_steps_protocol

PROTOCOL = Path(__file__).parents[2] / "acceptance" / "gpu_steps.toml"


def test_the_protocol() -> None:
    found = read_steps_protocol(PROTOCOL)
    assert found.trained_on == "gpu-h100-layers"
    assert [(each.name, each.campaign, each.backend, dict(each.limits)) for each in found.sets] == [
        ("known_networks", "gpu-h100-zoo", None, {"busy": 0.15, "stream": 0.15}),
        ("todays_networks", "gpu-h100-zoo", None, {"busy": 0.25, "stream": 0.25}),
        ("another_program", "gpu-h100", "cuda-library", {"stream": 0.2}),
    ]
    assert [len(each.cnns) for each in found.sets] == [6, 5, 0]
    assert found.coverage == 0.85


@pytest.mark.parametrize(
    ("old", "new"), [("lowest = 0.85", "lowest = 2.0"), ("busy_limit", "busy_limits"), ("[coverage]", "[cover]")]
)
def test_a_wrong_protocol_is_refused(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "p.toml").write_text(PROTOCOL.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=new.split(" ")[0].strip("[]")[:5]):
        read_steps_protocol(tmp_path / "p.toml")


def test_the_summary_is_by_set_and_quantity() -> None:
    rows = pd.DataFrame(
        {
            "set": ["a", "a", "b"],
            "quantity": ["step_s", "step_s", "step_s"],
            "relative_error": [0.1, -0.3, 0.5],
            "inside": [True, False, True],
            **{name: [-1.0, 1.0, 0.25] for name in RULES},
        }
    )
    found = StepsJudgement(pd.DataFrame(), rows, {}).summary().set_index("set")
    assert found.loc["a", ["n", "mape", "max_error", "bias", "coverage"]].tolist() == pytest.approx([2, 0.2, 0.3, -0.1, 0.5])
    assert found.loc["b", list(RULES)].tolist() == [0.25, 0.25]
