"""Columns and candidate terms of library layers, whose algorithm nobody outside the library knows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mlperf.specs.kernels.kernels import FLOAT_BYTES, KernelCall
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.counts import layer_n_params

# m, n, k are those of the product after im2col, whether or not the library forms the columns: m n k counts the work, m n the
# output, n k the weights, m k the columns (the input, once for each element of the filter). The way back is one such product
# for the weights and, unless no layer below learns, one for the input.
LIBRARY_TERMS = (
    "products * groups * m * n * k",
    "products * groups * m * n",
    "products * groups * m * k",
    "products * groups * n * k",
    "products * touched_bytes",
    "products * touched_bytes * log2(step_bytes / 16777216)",
)
PAPER_LIBRARY_TERMS = ("products * groups * m * n * k",)
LIBRARY_FEATURES = ("products", "groups", "m", "n", "k", "touched_bytes", "maps_in", "row_size", "subbatch_size", "step_bytes")


def library_columns(cnn: CnnSpec, calls: Sequence[KernelCall]) -> pd.DataFrame:
    """Compute what describes a library call in addition to the fields of `KernelCall`.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    calls : sequence of KernelCall
        As `library_calls` in `mlperf.specs` gives them.

    Returns
    -------
    DataFrame, shape (n_calls, 2)
        ``products``: matrix products in the call (2 for a way back that reaches the input, else 1); ``touched_bytes``: inputs,
        outputs and parameters of the layer, each once, bytes.
    """
    needed = cnn.needs_gradient
    rows = []
    for call in calls:
        sources, inputs = cnn.sources[call.layer], cnn.input_shapes(call.layer)
        elements = cnn.shapes[call.layer].size + sum(shape.size for shape in inputs)
        n_params = layer_n_params(cnn[call.layer], inputs[0])
        reaches_input = call.kernel.endswith("_backward") and any(needed[source] for source in sources)
        rows.append((1 + reaches_input, FLOAT_BYTES * (call.subbatch_size * elements + n_params)))
    return pd.DataFrame(rows, columns=["products", "touched_bytes"])
