"""Every command's result has a class, a schema and a page, all in step with the code."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator

from mlperf.cli.framework.default_group import DefaultGroup
from mlperf.cli.main import cli
from mlperf.report.text.registry import RESULTS
from mlperf.report.text.results import command_schema, json_document, schema_name, schema_text

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
WITHOUT_RESULT = {"completion"}


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> list[str]:
    found = []
    with click.Context(group) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            if isinstance(command, click.Group) and not isinstance(command, DefaultGroup):
                found += leaves(command, (*path, name))
            else:
                found.append(" ".join((*path, name)))
    return found


def test_every_command_has_a_result_class() -> None:
    assert set(leaves(cli)) - WITHOUT_RESULT == set(RESULTS)


@pytest.mark.parametrize("command", RESULTS)
def test_the_schema_is_one_and_is_the_one_in_the_documents(command: str) -> None:
    Draft202012Validator.check_schema(command_schema(command))
    stored = (REFERENCE / "schema" / schema_name(command)).read_text(encoding="utf-8")
    assert stored == schema_text(command), "run: python docs/make_json.py"


def test_the_page_is_in_step() -> None:
    assert (REFERENCE / "json.md").read_text(encoding="utf-8") == json_document(), "run: python docs/make_json.py"
