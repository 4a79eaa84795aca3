"""Terms of the forms against the equations of the algorithms."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.models.estimators.choice.cost_form import form_matrix
from mlperf.systems.base.collectives import allreduce_s
from mlperf.training.collectives.exchange_forms import FORMS, PAPER, form_named
from mlperf.training.collectives.exchange_rows import terms_frame


@pytest.mark.parametrize(("form", "algorithm"), [("ring", "ring"), ("tree", "tree"), ("halving-doubling", "halving_doubling")])
def test_terms_are_those_of_the_algorithm(form: str, algorithm: str) -> None:
    """The published cost is the form at coefficients (1 / bandwidth, latency)."""
    n, size = (each.ravel() for each in np.meshgrid([2.0, 3.0, 8.0, 64.0], [512.0, 1e6, 1e9]))
    latency_s, bandwidth = 3e-6, 2e10
    matrix = form_matrix(form_named(form).terms, terms_frame(n, 1.0, size), len(n))
    assert matrix @ [1.0 / bandwidth, latency_s] == pytest.approx(allreduce_s(algorithm, size, n, latency_s, bandwidth))


def test_the_paper_comes_first_and_names_are_unique() -> None:
    assert FORMS[0].name == PAPER
    assert len({form.name for form in FORMS}) == len(FORMS)
    with pytest.raises(KeyError):
        form_named("rings")
