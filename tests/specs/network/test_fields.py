"""What counts as a figure."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.network.fields import Figure, placed


@pytest.mark.parametrize(
    ("figure", "accepted", "refused"),
    [
        (Figure("n", whole=True, least=1), [1, 7, 2**63 - 1], [0, 1.0, True, "1", None, 2**63]),
        (Figure("x"), [0, 0.5], [-1e-9, float("inf"), float("nan"), False]),
        (Figure("x", above=True), [1e-9], [0, 0.0]),
        (Figure("x", optional=True), [None, 0], [-1]),
    ],
)
def test_figures(figure, accepted, refused):
    assert all(figure.accepts(value) for value in accepted)
    assert not any(figure.accepts(value) for value in refused)


def test_a_place_is_put_before_but_not_twice():
    error = placed(DataError("m", place="layer 'a'", hint="h"), "net.toml")
    assert (error.place, error.message, error.hint) == ("net.toml, layer 'a'", "m", "h")
    assert placed(error, "net.toml") is error
