"""The table of results names classes and functions that exist, each class once a command."""

from __future__ import annotations

import pytest

from mlperf.core.shown import Shown
from mlperf.report.text.registry import RESULTS, VIEWS, View, view_of
from mlperf.report.text.views import load, with_figure


@pytest.mark.parametrize("home", VIEWS)
def test_every_result_is_a_class_that_shows_itself(home: str) -> None:
    assert issubclass(load(home), Shown)


@pytest.mark.parametrize(("home", "view"), VIEWS.items())
def test_every_view_is_a_function(home: str, view: View) -> None:
    for target in (view.sections, view.figure):
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
