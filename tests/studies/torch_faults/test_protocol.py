"""The protocol of PyTorch runs, as committed and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.torch_faults.protocol import read_torch_protocol

PATH = Path(__file__).parents[2] / "acceptance" / "torch_faults.toml"


def test_as_committed() -> None:
    found = read_torch_protocol(PATH)
    assert found.runs["lock"].cause == "lock contention"
    assert found.runs["lock"].traceml == ("INPUT-BOUND",)
    assert found.runs["slow-rank"].of_ranks
    assert not found.runs["lock"].of_ranks
    assert found.limits.gain == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n_ranks = 3", ""),
        ("n_ranks = 3", 'n_ranks = "x"'),
        ("gain = 0.20", "gains = 0.20"),
        ('cause = "input"', 'cuase = "input"'),
    ],
)
def test_a_broken_one_is_refused(tmp_path: Path, old: str, new: str) -> None:
    text = PATH.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "protocol.toml").write_text(text.replace(old, new))
    with pytest.raises(DataError, match=r"protocol\.toml"):
        read_torch_protocol(tmp_path / "protocol.toml")
