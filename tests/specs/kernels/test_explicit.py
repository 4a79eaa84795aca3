"""Networks that the explicit engine refuses, by name of the layer."""

from __future__ import annotations

import pytest

from mlperf.collect.backends.backends import numpy_backend
from mlperf.collect.cnn_engine.engine import PASSES, training_step
from mlperf.core.errors import DataError
from mlperf.features.network_engine.describe import engine_nests
from mlperf.specs.kernels.explicit import check_explicit, further_layer
from mlperf.specs.network.layer import EXPLICIT_KINDS
from mlperf.specs.zoo.zoo import load_cnn


def test_the_engine_runs_exactly_the_explicit_kinds():
    assert set(PASSES) == set(EXPLICIT_KINDS)


@pytest.mark.parametrize("name", ["resnet50", "vgg16", "a1"])
def test_networks_of_those_kinds_are_accepted(name):
    assert further_layer(load_cnn(name)) is None


@pytest.mark.parametrize(
    ("name", "layer", "kind"),
    [("mobilenet_v3_small", "block1_squeeze_multiply", "multiply"), ("convnext_tiny", "stem_norm", "layer_norm")],
)
def test_every_way_to_the_engine_names_the_layer_and_what_can_run_it(name, layer, kind):
    cnn = load_cnn(name)
    for use in (check_explicit, lambda net: training_step(net, 1), lambda net: engine_nests(net, 1)):
        with pytest.raises(DataError, match=f"got a layer of kind '{kind}'") as caught:
            use(cnn)
        assert caught.value.place == f"cnn '{name}', layer '{layer}'"
        assert "--backend torch" in caught.value.hint
    with numpy_backend() as backend:
        assert backend.refusal(cnn, 1).startswith(f"the explicit engine has no kernels of {kind} (layer {layer})")
        assert not backend.refusal(load_cnn("alexnet"), 1)
