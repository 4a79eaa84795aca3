"""Limits from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.trainer.limits import read_trainer_limits


def test_tables_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text('[one_network]\nepoch_s = 0.08\n[missed]\n"a gate" = 0.5\n', encoding="utf-8")
    found = read_trainer_limits(path)
    assert (found.one_network, found.missed, found.intervals) == ({"epoch_s": 0.08}, {"a gate": 0.5}, {})


@pytest.mark.parametrize(
    "text", ["[other]\nepoch_s = 1", "[more_nodes]\nspeed = 1", '[ranking]\nregret = "small"', "[ranking]\nregret = -1"]
)
def test_what_is_not_known_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"got|unknown"):
        read_trainer_limits(path)
