"""Columns and candidate terms of library layers, whose algorithm nobody outside the library knows."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import pandas as pd

from mlperf.datasets.dictionary.schema import PASSES, STEPPED
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

# Filters of single maps take time by maps and places, hardly by multiply-accumulates.
DEPTHWISE_TERMS = (
    "products * groups",
    "products * groups * k",
    "products * groups * m",
    "products * groups * m * k",
    "products * groups * subbatch_size",
    "products * touched_bytes",
    "products * touched_bytes * log2(step_bytes / 16777216)",
)
DEPTHWISE: Mapping[str, str] = {f"conv_{way}": f"depthwise_conv_{way}" for way in PASSES}
"""By kernel, what it is fitted as where every filter reads and writes a single map: libraries have code of their own for it."""

# Layers that go through their input place by place: as many calls as places, in each of which the weights are read.
STEPPED_TERMS = ("m / subbatch_size", "m / subbatch_size * n * k")
OWN_TERMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(DEPTHWISE.values(), DEPTHWISE_TERMS),
    **dict.fromkeys(STEPPED, (*LIBRARY_TERMS, *STEPPED_TERMS)),
}
"""By kernel, candidates in place of those of its kind."""
MOVED = ("layer_scale", "position_embedding", "class_token", "select_token", "part", "shuffle", "multiply")
"""Kinds that read and write maps element by element."""

STANDING_IN: Mapping[str, tuple[str, ...]] = {
    **{f"attend_{way}": (f"attention_{way}", f"conv_{way}") for way in PASSES},
    **{f"attention_{way}": (f"conv_{way}",) for way in PASSES},
    **{f"{kind}_{way}": (f"batch_norm_{way}",) for kind in ("layer_norm", "group_norm") for way in PASSES},
    **{f"{kind}_{way}": (f"activation_{way}",) for kind in MOVED for way in PASSES},
    **{own: (kernel,) for kernel, own in DEPTHWISE.items()},
}
"""By kernel, what it is taken for where it was never measured, the nearest first: as many products, or as many bytes moved.

What is fitted reads the sizes of the call that is asked for. Such calls are always outside the domain. Recurrent cells, which no
other kernel resembles, and what would be far off have no stand-in: of ``cpu-xeon-layers`` tables take 7 to 10 times as long as
activations of the same bytes, resizing 4 to 6 times, transposed convolutions 2 to 3 times as long as others of the same products.
"""

STANDING_IN_SPREAD = 0.75
"""Standard deviation of the logarithm of all that a kernel takes, as one that stands in for it predicts it, over what was measured.

Of the 22 kernels of ``cpu-xeon-layers`` that are stood in for, each by the fit of what stands in: all calls together are off by a
factor of 0.12 to 3.9, by 0.78 in the logarithm (root mean square over kernels). ``tests/acceptance/test_stand_ins.py`` measures it.
"""
LIBRARY_FEATURES = (
    *("products", "groups", "m", "n", "k", "touched_bytes", "maps_in", "row_size", "subbatch_size", "step_bytes"),
    # Sizes of the three matrices and the work, shapes of the products, places under the filter, work for each byte.
    *("m * k", "m * n", "n * k", "groups * m * n * k", "n / m", "k / n", "groups * k / maps_in"),
    "groups * m * n * k / touched_bytes",
)
"""What trees see of a library layer."""


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


def fitted_kernels(calls: pd.DataFrame, fitted: Container[str] | None = None) -> pd.Series[str]:
    """What each call is fitted as: its kernel, but of convolutions whose filters read and write single maps the code of these.

    Parameters
    ----------
    calls : DataFrame, shape (n_calls, ...)
        With ``kernel, groups, n``.
    fitted : container of str, optional
        Kernels that a model knows; where it does not know the code of single maps, such calls are convolutions like others.

    Returns
    -------
    Series, shape (n_calls,)
        Names, on the index of ``calls``.
    """
    is_single = (calls["groups"] > 1) & (calls["n"] == 1)
    named = {kernel: own for kernel, own in DEPTHWISE.items() if fitted is None or own in fitted}
    return calls["kernel"].where(~is_single, calls["kernel"].replace(named))
