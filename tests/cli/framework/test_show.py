"""What a command prints with ``--json`` is what its Python function returns, and fits the documented schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mlperf.cli.main import cli
from mlperf.report.text.results import command_schema
from mlperf.report.text.schema import record_text

pytestmark = pytest.mark.slow


def printed(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*words, "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.stdout)


def returned(result: Any) -> Any:
    """The function's result as it reads after a trip through JSON."""
    return json.loads(record_text(result.to_dict()))


def hold(command: str, document: dict[str, Any], result: Any) -> None:
    Draft202012Validator(command_schema(command)).validate(document)
    assert document["command"] == command
    assert document["result"] == returned(result)


def data_list() -> Any:
    from mlperf.datasets import list_data

    return list_data()


def data_columns() -> Any:
    from mlperf.datasets import describe_columns

    return describe_columns("kernels")


def data_template() -> Any:
    from mlperf.datasets import table_template

    return table_template("steps")


CASES: list[tuple[str, list[str], Callable[[], Any]]] = [
    ("data list", [], data_list),
    ("data columns", ["kernels"], data_columns),
    ("data template", ["steps"], data_template),
]


@pytest.mark.parametrize(("command", "words", "function"), CASES, ids=[case[0] for case in CASES])
def test_data_commands_print_what_their_functions_return(command: str, words: list[str], function: Callable[[], Any]) -> None:
    hold(command, printed(*command.split(), *words), function())


def test_data_check_prints_what_its_function_returns(tmp_path: Path) -> None:
    from mlperf.datasets import check_data, table_template

    file = tmp_path / "steps.csv"
    file.write_text(table_template("steps").text, encoding="utf-8")
    hold("data check", printed("data", "check", str(file)), check_data(file))


@pytest.mark.parametrize(("is_terminal", "quiet", "shown"), [(True, False, True), (True, True, False), (False, False, False)])
def test_progress_is_shown_on_a_terminal_that_was_not_asked_to_be_quiet(
    *, is_terminal: bool, quiet: bool, shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlperf.core import progress

    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: is_terminal)
    rows = [f"{size},{1.5 * size + size % 7}" for size in range(1, 40)]
    (tmp_path / "times.csv").write_text("\n".join(["size,time_s", *rows]), encoding="utf-8")
    words = [
        "train",
        str(tmp_path / "times.csv"),
        "--target",
        "time_s",
        "-o",
        str(tmp_path / "model.json"),
        "--folds",
        "3",
        *(["-q"] if quiet else []),
    ]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert done.exception is None
    assert ("methods compared on left-out rows" in done.stderr) == shown
    assert "methods compared on left-out rows ━" not in done.stdout
