"""Every command's result has a class, a schema and a page, all in step with the code."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from mlperf import __version__
from mlperf.cli.framework.group import DefaultGroup
from mlperf.cli.main import cli
from mlperf.core.provenance import provenance
from mlperf.report.text.registry import RESULTS
from mlperf.report.text.results import command_schema, json_document, schema_name, schema_text
from mlperf.report.text.schema import record, record_text

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
WITHOUT_RESULT = {"completion"}
OWN_RESULTS = {"record"}
"""Groups with a default command whose other commands show results of their own."""


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> list[str]:
    found = []
    with click.Context(group) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            if isinstance(command, click.Group) and not isinstance(command, DefaultGroup):
                found += leaves(command, (*path, name))
            else:
                found.append(" ".join((*path, name)))
            if name in OWN_RESULTS and isinstance(command, DefaultGroup):
                found += [f"{name} {child}" for child in command.table]
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


def test_a_record_holds_only_json_and_says_what_is_not_a_number() -> None:
    result = {"epoch_s": np.array([1.5, np.nan, np.inf]), "n_nodes": np.int64(8), "in_domain": np.bool_(False)}
    document = record("predict", provenance(seed=1), result)
    again = json.loads(record_text(document))
    assert again == document
    assert again["result"] == {"epoch_s": [1.5, "NaN", "Inf"], "n_nodes": 8, "in_domain": False}
    assert list(again) == ["format", "version", "command", "provenance", "result"]


def test_provenance_says_what_ran_where_and_on_which_data() -> None:
    facts = provenance(data_sha256={"a": "ff"}, seed=7, command_line=["mlperf", "train"], now=datetime(2020, 1, 2, tzinfo=UTC))
    assert facts["created_utc"] == "2020-01-02T00:00:00+00:00"
    assert facts["command_line"] == ["mlperf", "train"]
    assert facts["versions"]["mlperf"] == __version__
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["host"]["n_cores"] >= 1
    assert facts["data_sha256"] == {"a": "ff"}
