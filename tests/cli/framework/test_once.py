"""What stands twice on a line where only one can count."""

from __future__ import annotations

import click
import pytest

from mlperf.cli.framework.once import check_given_once


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-m", "--machine")
@click.option("--cnn", multiple=True)
@click.option("-v", "--verbose", count=True)
@click.option("--quick/--thorough")
@click.argument("words", nargs=-1)
def command(**given: object) -> None:
    """Options of every kind."""


GROUP = click.Context(click.Group("group"), info_name="mlperf")


@pytest.mark.parametrize("line", ["-m a -m b", "--machine a -m a", "--machine=a --cnn x --machine b", "-ma -mb word"])
def test_an_option_of_one_value_given_twice_is_refused_by_name(line: str) -> None:
    with pytest.raises(click.UsageError, match="got --machine 2 times, expected it once"):
        check_given_once(command, GROUP, line.split())


@pytest.mark.parametrize(
    "line",
    [
        "-m a",
        "--cnn x --cnn y -vv -v",
        "--quick --thorough",
        "-m a -- -m b",  # behind -- they are words
        "-m a program -m b",  # a program's own options
        "-m a --unknown -m b",  # what else is wrong is said first by the command
        "-m a -m",
    ],
)
def test_other_lines_are_left_to_the_command(line: str) -> None:
    words = line.split()
    check_given_once(command, GROUP, words)
    assert words == line.split()
