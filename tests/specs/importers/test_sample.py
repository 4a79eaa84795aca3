"""Shapes of samples as users write them, without torch or ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.specs.importers.sample import sample_shape
from mlperf.specs.network.shape import Shape


@pytest.mark.parametrize("given", [(3, 24, 32), [3, 24, 32], (1, 3, 24, 32), np.zeros((8, 3, 24, 32))])
def test_a_sample_a_batch_and_an_example_have_the_same_shape(given: Any) -> None:
    assert sample_shape(given, "network 'x'") == Shape(3, 24, 32)


@pytest.mark.parametrize("given", [(3, 24), (2, 1, 3, 24, 32), "3x24x32", 3, None, (3, 0, 32), (3.0, 24, 32), np.zeros(3)])
def test_what_is_no_shape_is_refused_with_an_example(given: Any) -> None:
    with pytest.raises(DataError, match=r"network 'x', input_shape: got .*, expected \(maps, height, width\)") as caught:
        sample_shape(given, "network 'x'")
    assert "(3, 224, 224)" in str(caught.value.hint)
