"""The protocol that is committed, and ones that are not whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.message_passing.protocol import read_message_protocol

PROTOCOL = Path(__file__).parents[2] / "acceptance" / "message_passing.toml"


def test_the_committed_limits_are_those_of_the_issue() -> None:
    found = read_message_protocol(PROTOCOL)
    limits = found.limits
    assert (limits.registration, limits.compositing, limits.transports, limits.overhead) == (0.03, 0.10, 0.10, 0.02)
    assert found.registration.edits >= limits.edits == 5
    assert 4 <= found.registration.ranks <= 16


@pytest.mark.parametrize("change", [("edits = 7\n", ""), ("[overhead]", "[other]"), ("pairs = ", "couples = ")])
def test_a_protocol_that_is_not_whole(change: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(PROTOCOL.read_text(encoding="utf-8").replace(*change, 1), encoding="utf-8")
    with pytest.raises(DataError, match="expected"):
        read_message_protocol(path)
