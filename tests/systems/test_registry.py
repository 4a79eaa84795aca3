"""A user's own system is found beside the shipped ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.registry import find_system

OWN = """
from mlperf.systems.sprint.system import SprintSystem

MINE = SprintSystem(closed="paper", name="mine")
"""


def test_a_module_in_the_working_folder_is_a_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_system.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert find_system("my_own_system:MINE").name == "mine"
    with pytest.raises(UsageError, match="has no 'YOURS'"):
        find_system("my_own_system:YOURS")


def test_a_module_that_needs_what_is_not_there_says_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_more.py").write_text("import nosuch_module\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="'needs_more' needs 'nosuch_module'"):
        find_system("needs_more:ANY")
