"""Options of a prediction: what cannot be asked for is refused before anything is computed."""

from __future__ import annotations

import pytest

from mlperf.core.errors import UsageError
from mlperf.planning.options import MOST_DETAILED, PredictionOptions


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "lerant"}, "got method 'lerant', expected one of paper, ols, linear, learnt"),
        ({"refine": "simulation"}, "got refine 'simulation', expected 'recursion'"),
    ],
)
def test_what_there_is_not_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        PredictionOptions(**given)


def test_the_form_is_the_refinement_where_there_is_one() -> None:
    assert PredictionOptions(closed="paper").form == "paper"
    assert PredictionOptions(refine="recursion", closed="paper").form == "recursion"


def test_many_configurations_get_distributions_only_when_asked() -> None:
    unasked = PredictionOptions()
    assert [unasked.with_distributions(n) for n in (MOST_DETAILED, MOST_DETAILED + 1)] == [True, False]
    assert PredictionOptions(distributions=True).with_distributions(1000)
    assert not PredictionOptions(distributions=False).with_distributions(1)
