"""The table of results names classes and functions that exist, each class once a command."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mlperf.cli.main import cli
from mlperf.cli.recordings.group import COMMANDS
from mlperf.core.shown import Shown
from mlperf.report.text.registry import RESULTS, VIEWS, View, view_at, view_of
from mlperf.report.text.views import drawn_commands, load, with_figure


@pytest.mark.parametrize("home", VIEWS)
def test_every_result_is_a_class_that_shows_itself(home: str) -> None:
    assert issubclass(load(home), Shown)


@pytest.mark.parametrize(("home", "view"), VIEWS.items())
def test_every_view_is_a_function(home: str, view: View) -> None:
    for target in (view.sections, view.figure, view.page, view.answer):
        assert not target or callable(load(target)), home


def test_one_class_has_one_view() -> None:
    for classes in RESULTS.values():
        for home, view in classes.items():
            assert VIEWS[home] == view


def test_a_class_of_the_same_name_elsewhere_has_no_view() -> None:
    class Prediction(Shown):
        __slots__ = ()

    assert view_of(Prediction()) == View()


def test_figures_are_named_by_class() -> None:
    assert {"Prediction", "SearchResult", "KernelStudy"} <= set(with_figure())


def test_commands_with_figures_are_named_once() -> None:
    commands = drawn_commands()
    assert {"predict", "search", "compare", "optimize"} <= set(commands)
    assert "calibrate" not in commands
    assert len(commands) == len(set(commands))


def test_commands_that_a_hint_names_for_figures_have_the_option() -> None:
    for command in drawn_commands():
        asked = CliRunner().invoke(cli, [*command.split(), "--help"])
        assert "--plot" in asked.output, command


def test_a_view_that_says_nothing_is_empty_everywhere() -> None:
    assert view_at() == View() == View("", "", "", "")


def test_a_view_names_its_functions_alike() -> None:
    assert view_at("pages.a:b", "sections figure", "pages.c:d") == View(
        "mlperf.report.pages.a:b_sections", "mlperf.report.pages.a:b_figure", answer="mlperf.report.pages.c:d_answer"
    )


def test_every_command_on_recordings_has_a_view_that_says_something_first() -> None:
    commands = ("record", "compare-runs", *(f"record {name}" for name in COMMANDS))
    assert all(view.answer and view.sections for command in commands for view in RESULTS[command].values())
