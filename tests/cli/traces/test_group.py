"""``mlperf trace`` lists its commands without importing them, and each is there."""

from __future__ import annotations

import pytest

from mlperf.cli.main import main
from mlperf.cli.traces.group import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["trace", name, "--help"])
    assert left.value.code == 0
    assert f"mlperf trace {name}" in capsys.readouterr().out


def test_a_misspelt_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["trace", "domin"])
    assert left.value.code == 2
    assert "domino" in capsys.readouterr().err
