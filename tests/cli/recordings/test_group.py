"""The group and its commands."""

from __future__ import annotations

import click
import pytest

from mlperf.cli.framework.group import record_name
from mlperf.cli.main import cli, main
from mlperf.cli.recordings.group import COMMANDS, record
from mlperf.report.text.registry import RESULTS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads(name: str) -> None:
    with click.Context(record) as ctx:
        assert record.get_command(ctx, name).name in (name, name.replace("_", "-"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_json_of_every_command_is_called_as_its_schema_is(name: str) -> None:
    """Not ``record``: that schema is of what the group does where no command is named."""
    with click.Context(cli, info_name="mlperf") as top, click.Context(record, parent=top, info_name="record") as group:
        assert record_name(group) == "record"
        assert record_name(click.Context(click.Command(name), parent=group, info_name=name)) == f"record {name}"
    assert f"record {name}" in RESULTS


def test_help_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["record", "--help"])
    told = capsys.readouterr().out
    assert "Run COMMAND and record" in told
