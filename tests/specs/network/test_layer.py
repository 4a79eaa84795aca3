"""What a layer accepts, and what it says when it does not."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.network.layer import KIND_FIELDS, LAYER_KINDS, Layer


def test_usual_strides_are_filled_in():
    assert Layer("c", "conv", n_maps=4, filter_size=3).stride == (1, 1)
    assert Layer("p", "pool", filter_size=(2, 3)).stride == (2, 3)


def test_integers_stand_for_squares():
    assert Layer("c", "conv", n_maps=4, filter_size=3, padding=1) == Layer(
        "c", "conv", n_maps=4, filter_size=(3, 3), padding=(1, 1)
    )


def test_every_kind_has_its_fields():
    assert set(KIND_FIELDS) == set(LAYER_KINDS)
    assert len(LAYER_KINDS) == 29


@pytest.mark.parametrize(
    ("fields", "place", "message", "hint"),
    [
        ({"kind": "conf"}, "layer 'x', kind", "got 'conf', expected one of conv, pool, fc", "Did you mean"),
        (
            {"kind": "conv", "filter_size": 3},
            "layer 'x', n_maps",
            "got 0, expected an integer >= 1",
            "n_maps is the number of maps",
        ),
        ({"kind": "conv", "n_maps": 4}, "layer 'x', filter_size", r"got (0, 0), expected an integer", "filter_size = 3"),
        (
            {"kind": "conv", "n_maps": 4, "filter_size": "3"},
            "layer 'x', filter_size",
            "got '3', expected an integer or [height, width]",
            "",
        ),
        ({"kind": "conv", "n_maps": 4, "filter_size": 3, "padding": -1}, "layer 'x', padding", "got -1, expected", ">= 0"),
        (
            {"kind": "conv", "n_maps": 4, "filter_size": 3, "groups": 3},
            "layer 'x', groups",
            "got 3, expected a divisor of n_maps = 4",
            "",
        ),
        (
            {"kind": "conv", "n_maps": 4, "filter_size": 3, "bias": "yes"},
            "layer 'x', bias",
            "got 'yes', expected true or false",
            "",
        ),
        ({"kind": "conv", "n_maps": True, "filter_size": 3}, "layer 'x', n_maps", "got True, expected an integer", ""),
        (
            {"kind": "fc", "n_maps": 4, "filter_size": 3},
            "layer 'x', filter_size",
            "expected no such field for kind 'fc'",
            "A fc layer reads",
        ),
        (
            {"kind": "pool", "filter_size": 2, "mode": "mean"},
            "layer 'x', mode",
            "got 'mean', expected one of max, average",
            "expected one of",
        ),
        ({"kind": "pool", "filter_size": 2, "padding": 2}, "layer 'x', padding", "expected at most half of filter_size", ""),
        ({"kind": "pool", "output_size": 1, "stride": 2}, "layer 'x', stride", "expected nothing beside output_size", ""),
        ({"kind": "pool", "output_size": (0, 2)}, "layer 'x', output_size", "got (0, 2), expected", ""),
        ({"kind": "activation", "function": "rleu"}, "layer 'x', function", "got 'rleu'", "Did you mean 'relu'?"),
        ({"kind": "add", "inputs": "conv1"}, "layer 'x', inputs", "got 'conv1', expected a list of layer names", ""),
        ({"kind": "attend", "n_heads": 2, "n_biases": -1}, "layer 'x', n_biases", "got -1, expected an integer >= 0", "scores"),
        ({"kind": "class_token", "n_tokens": 0}, "layer 'x', n_tokens", "got 0, expected an integer >= 1", ""),
        ({"kind": "flatten", "name": "input"}, "layer 'input', name", "got 'input', expected a name other than 'input'", ""),
    ],
)
def test_mistakes_are_named(fields, place, message, hint):
    with pytest.raises(DataError) as caught:
        Layer(**{"name": "x", **fields})
    assert caught.value.place == place
    assert message in caught.value.message
    assert hint in caught.value.message + (caught.value.hint or "")
