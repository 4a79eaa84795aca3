"""``mlperf collect``: which command every line leads to, and what that command gets of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from mlperf.cli.commands.collect import COMMANDS, collect_tables
from mlperf.cli.framework.group import record_name
from mlperf.cli.main import cli

OUT = Path("x")


class Line(NamedTuple):
    """What a line led to."""

    path: str
    record: str
    given: dict[str, Any]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Line]:
    """Parse a line; the command that it leads to says what it got and does nothing."""
    found: list[Line] = []

    def note(**given: Any) -> None:
        ctx = click.get_current_context()
        found.append(Line(ctx.command_path, record_name(ctx), given))

    for command in (collect_tables, *(item.load() for item in COMMANDS.values())):
        monkeypatch.setattr(command, "callback", note)

    def parse(line: str) -> Line:
        done = CliRunner().invoke(cli, line.split(), prog_name="mlperf")
        assert done.exit_code == 0, done.output
        return found.pop()

    return parse


@pytest.mark.parametrize(
    "line", ["collect sgemm kernels -o x", "collect -o x sgemm kernels", "collect sgemm -o x kernels", "collect -ox sgemm kernels"]
)
def test_a_line_without_a_command_is_the_default_ones_wherever_its_options_stand(parsed: Callable[[str], Line], line: str) -> None:
    path, record, given = parsed(line)
    assert (path, record) == ("mlperf collect", "collect")
    assert (given["kinds"], given["out"]) == (("sgemm", "kernels"), OUT)


def test_flags_and_long_options_before_the_words_are_its_too(parsed: Callable[[str], Line]) -> None:
    given = parsed("collect --json --rounds=3 -q --out x steps --cnn resnet18").given
    assert (given["kinds"], given["rounds"], given["cnns"], given["out"]) == (("steps",), 3, ("resnet18",), OUT)


@pytest.mark.parametrize("name", ["asgd", "contraction"])
@pytest.mark.parametrize("dashes", ["", "-- "])
def test_options_of_a_command_without_arguments_stand_with_or_without_dashes(
    parsed: Callable[[str], Line], name: str, dashes: str
) -> None:
    path, record, given = parsed(f"collect {name} {dashes}-o x --seed 5")
    assert (path, record) == (f"mlperf collect {name}", "collect")
    assert (given["out"], given["seed"]) == (OUT, 5)


def test_dashes_before_a_program_leave_its_words_alone(parsed: Callable[[str], Line]) -> None:
    given = parsed("collect counters --repeats 2 -- ./program -o y -- z").given
    assert (given["command"], given["repeats"], given["output"]) == (("./program", "-o", "y", "--", "z"), 2, None)


def test_a_config_table_may_carry_one_word_or_all(parsed: Callable[[str], Line], tmp_path: Path) -> None:
    for table, line in (("collect", "collect steps"), ("asgd", "collect asgd"), ('"collect asgd"', "collect asgd --")):
        file = tmp_path / "options.toml"
        file.write_text(f'[{table}]\nout = "x"\nseed = 7\n', encoding="utf-8")
        given = parsed(f"{line} --config {file}").given
        assert (given["out"], given["seed"]) == (OUT, 7)


@pytest.mark.parametrize("words", [["collect"], ["collect", "spped", "-o", "x"], ["collect", "steps"]])
def test_wrong_use_shows_the_usage_of_the_group(words: list[str]) -> None:
    done = CliRunner().invoke(cli, words, prog_name="mlperf")
    assert done.exit_code == 2
    assert done.stderr.startswith("Usage: mlperf collect [OPTIONS] [sgemm|kernels|steps|updates]...\n")
    assert re.search("Try 'mlperf collect (-h|--help)'", done.stderr)  # older click takes one of the two names by chance


def test_help_is_the_default_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    # click keeps the help option that a command was first asked for, and another test may have asked outside of `mlperf`
    monkeypatch.setattr(collect_tables, "_help_option", None)
    shown = {flag: CliRunner().invoke(cli, ["collect", flag], prog_name="mlperf").stdout for flag in ("-h", "--help")}
    assert shown["-h"] == shown["--help"]
    assert shown["-h"].startswith("Usage: mlperf collect [OPTIONS] [sgemm|kernels|steps|updates]...\n")
    assert "--max-macs" in shown["-h"]


@pytest.mark.parametrize(
    ("typed", "begun", "offered"),
    [
        ([], "", {"sgemm", "updates", "asgd", "kernel-counters"}),
        ([], "s", {"sgemm", "steps"}),
        ([], "--ba", {"--backend"}),
        (["sgemm"], "k", {"kernels"}),
        (["asgd"], "--wa", {"--wait"}),
        (["-o", "x"], "ke", {"kernels"}),
    ],
)
def test_completion_offers_words_commands_and_options(typed: list[str], begun: str, offered: set[str]) -> None:
    complete = ShellComplete(cli, {}, "mlperf", "_MLPERF_COMPLETE")
    found = {item.value for item in complete.get_completions(["collect", *typed], begun)}
    assert offered <= found
    assert all(value.startswith(begun) for value in found)


@pytest.mark.parametrize(
    "line", ["collect sgemm -o x --out y", "collect asgd --out x --out y", "predict m.json --nodes 8 --nodes 4"]
)
def test_every_command_refuses_an_option_that_would_be_ignored(line: str) -> None:
    done = CliRunner().invoke(cli, line.split(), prog_name="mlperf")
    assert done.exit_code == 2
    assert "2 times, expected it once" in done.output
