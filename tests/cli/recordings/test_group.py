"""The group and its commands."""

from __future__ import annotations

import click
import pytest

from mlperf.cli.main import main
from mlperf.cli.recordings.group import COMMANDS, record


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads(name: str) -> None:
    with click.Context(record) as ctx:
        assert record.get_command(ctx, name).name in (name, name.replace("_", "-"))


def test_help_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["record", "--help"])
    told = capsys.readouterr().out
    assert "Run COMMAND and record" in told
