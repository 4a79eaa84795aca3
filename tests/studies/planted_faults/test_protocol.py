"""The protocol is read whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.planning.advice.findings import CAUSES
from mlperf.studies.planted_faults.protocol import CLEAN, OF_RANKS, OF_RING, read_fault_protocol

PROTOCOL = Path(__file__).parents[2] / "acceptance" / "planted_faults.toml"


def test_the_committed_protocol() -> None:
    found = read_fault_protocol(PROTOCOL)
    assert found.repeats >= 10
    assert {cause for name, cause in found.causes.items() if name not in CLEAN} <= set(CAUSES)
    assert {*OF_RANKS, *OF_RING} <= set(found.causes)
    assert found.ring.n_ranks == len(found.ring.wrong_order.split(",")) + 1
    assert all(not found.causes[name] for name in CLEAN)


@pytest.mark.parametrize(
    ("old", "new"), [("repeats = 10", ""), ("n_ranks = 4", "n_rank = 4"), ("[ring]", "[rings]"), ("[limits]", "[limit]")]
)
def test_what_is_missing_is_said(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(PROTOCOL.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=r"protocol\.toml"):
        read_fault_protocol(path)
