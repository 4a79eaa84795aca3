from __future__ import annotations

from mlperf.report.text.view import View


def test_a_view_that_says_nothing_is_empty_everywhere() -> None:
    assert (View().sections, View().figure, View().page, View().answer) == ("", "", "", "")
