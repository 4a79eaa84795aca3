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


BROKEN = """
from mlperf.systems.base.system import SystemComponent

class Broken:
    name, title, settings, outputs = "broken", "broken", (), ("epoch_s", "mean_minibatch_size")
    components = (SystemComponent("compute", "step", "work", "passes"),)
    def solve(self, times, run): ...

BROKEN = Broken()
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("BROKEN = Broken()", "BROKEN = Broken", "a class, expected a system.*\n  hint: Make one in {module}: BROKEN = BROKEN"),
        ('"epoch_s", "mean', '"round_s", "mean', "got outputs round_s, mean_minibatch_size, expected epoch_s, mean_minibatch_size"),
        ('"work"', '"wrk"', "got the kind 'wrk' of component 'compute', expected one of work.*\n  hint: Did you mean 'work'"),
        ('"passes"),)', '"passes"),) * 2', "got the component 'compute' 2 times"),
        ("times, run", "times", "system 'broken': its solve cannot be called with times and run: too many positional"),
    ],
)
def test_a_system_that_cannot_be_asked_is_refused(
    old: str, new: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    module = f"broken_system_{request.node.callspec.indices['old']}"
    (tmp_path / f"{module}.py").write_text(BROKEN.replace(old, new), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message.format(module=module)):
        find_system(f"{module}:BROKEN")
