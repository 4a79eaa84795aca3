"""Methods: each is explained, and the command line knows them all."""

from __future__ import annotations

from mlperf.cli.commands.train import TABLE_METHODS
from mlperf.training.table.methods import AUTO, METHODS, explanation


def test_the_command_line_offers_every_method() -> None:
    assert (AUTO, *METHODS) == TABLE_METHODS


def test_simple_methods_come_first() -> None:
    assert [each.complexity for each in METHODS.values()] == sorted(each.complexity for each in METHODS.values())


def test_each_is_explained_in_a_line() -> None:
    lines = explanation().splitlines()
    assert [line.split()[0] for line in lines] == [AUTO, *METHODS]
