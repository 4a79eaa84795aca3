"""Options that rows do not tell are compared with what host.json says of the runs that are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlperf.collect.protocol.asked import same_asked
from mlperf.core.errors import DataError, UsageError


def write(folder: Path, asked: object) -> None:
    (folder / "host.json").write_text(json.dumps({"protocol": {"ps": {"asked": asked}}}), encoding="utf-8")


def test_other_options_are_refused_where_runs_are_there_and_replace_those_of_runs_that_never_were(tmp_path: Path) -> None:
    write(tmp_path, {"a": {"--epochs": 1}, "b": {"--epochs": 1}})
    asked = {"a": {"--epochs": 2}}
    with pytest.raises(UsageError, match=r"got --epochs 2, expected 1 as in the runs of a that are there"):
        same_asked(tmp_path, "ps", asked, {"a"})
    assert same_asked(tmp_path, "ps", asked, {"b"}) == {"a": {"--epochs": 2}, "b": {"--epochs": 1}}


def test_of_runs_of_earlier_versions_nothing_is_claimed(tmp_path: Path) -> None:
    assert same_asked(tmp_path, "ps", {"a": {"--epochs": 2}, "b": {"--epochs": 2}}, {"a"}) == {"b": {"--epochs": 2}}


@pytest.mark.parametrize("asked", [5, {"a": 5}])
def test_a_record_of_something_else_is_named(tmp_path: Path, asked: object) -> None:
    write(tmp_path, asked)
    with pytest.raises(DataError, match=r"host.json: \$.protocol.ps.asked.*: got 5, expected an object"):
        same_asked(tmp_path, "ps", {"a": {}}, {"a"})
