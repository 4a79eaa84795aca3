"""The engine's kernels as loop nests: held against the engine's own views, and against a simulated cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
import pytest

from mlperf.collect.cnn_engine.engine import training_step
from mlperf.features.network_engine.describe import engine_columns, engine_nests
from mlperf.features.network_engine.passes import KernelNest
from mlperf.features.network_engine.step_cache import step_misses
from mlperf.features.source.caches import CacheLevel
from mlperf.features.source.reuse import nest_lines
from mlperf.features.source.strides import Level, Work, nest_addresses
from mlperf.specs import CnnSpec, load_cnn, make_residual_cnns
from mlperf.specs.kernels.kernels import kernel_calls
from mlperf.specs.network.layer import Layer

pytestmark = pytest.mark.slow

LINE = 64


def small_cnn() -> CnnSpec:
    layers = (
        Layer("conv1", "conv", n_maps=12, filter_size=(3, 3), padding=(1, 1)),
        Layer("relu1", "activation", function="relu"),
        Layer("pool1", "pool", mode="max", filter_size=(2, 2), stride=(2, 2)),
        Layer("conv2", "conv", n_maps=20, filter_size=(3, 3)),
        Layer("relu2", "activation", function="relu"),
        Layer("fc", "fc", n_maps=10),
    )
    return CnnSpec("small", 3, (12, 12), layers)


def accesses(kernel: KernelNest) -> Iterator[tuple[str, int]]:
    """Array and byte address of every reference, in the order of the loops."""

    def walk(item: Level | Work, at: dict[str, int]) -> Iterator[tuple[str, int]]:
        if isinstance(item, Work):
            for access in item.accesses:
                place = sum(stride * at[name] for name, stride in access.strides.items() if stride)
                yield access.array, place * access.element_size
            return
        for trip in range(item.trips):
            for inner in item.body:
                yield from walk(inner, at | {item.name: trip})

    for level in nest_addresses(kernel.nest).levels:
        yield from walk(level, {})


@pytest.fixture(scope="module")
def traces() -> list[list[tuple[str, int]]]:
    """Array and line of every reference, by kernel of the small network."""
    return [[(array, place // LINE) for array, place in accesses(kernel)] for kernel in engine_nests(small_cnn(), 2)]


def simulated(traces: list[list[tuple[str, int]]], n_lines: int) -> list[int]:
    """Misses of each kernel in the second of two steps: least recently used lines leave first."""
    cache: OrderedDict[tuple[str, int], None] = OrderedDict()
    found = []
    for trace in (*traces, *traces):
        misses = 0
        for line in trace:
            misses += line not in cache
            cache[line] = None
            cache.move_to_end(line)
            if len(cache) > n_lines:
                cache.popitem(last=False)
        found.append(misses)
    return found[len(traces) :]


@pytest.mark.parametrize("size_bytes", [4096, 16384, 65536])
def test_misses_of_a_step_agree_with_a_simulated_cache(size_bytes: int, traces: list[list[tuple[str, int]]]) -> None:
    """Line by line, least recently used; the model knows whole loops and blocks only."""
    kernels = engine_nests(small_cnn(), 2)
    truth = np.array(simulated(traces, size_bytes // LINE), float)
    model = step_misses(kernels, [CacheLevel("l1", size_bytes, LINE)])[:, 0]
    assert np.corrcoef(truth, model)[0, 1] >= 0.95
    assert truth.sum() <= model.sum() <= 1.7 * truth.sum()


def test_columns_of_im2col_are_the_engines() -> None:
    cnn = small_cnn()
    step = training_step(cnn, 2)
    kernels = dict(zip([(call.kernel, call.layer) for call in kernel_calls(cnn, 2)], engine_nests(cnn, 2), strict=True))
    lines = nest_lines(nest_addresses(kernels["im2col", "conv2"].nest), 4)
    image = step.values["pool1"]
    assert lines["columns of conv2"] == 2 * 4 * 4 * 9 * 12
    assert lines["value of pool1"] == image.size
    assert kernels["im2col", "conv2"].runs() == 2 * 4 * 4 * 3


def test_neighbouring_loops_join_where_all_operands_go_on() -> None:
    """A padded map is written row by row; a bias is added row of channels by row of channels; relu runs through."""
    cnn = small_cnn()
    kernels = dict(zip([(call.kernel, call.layer) for call in kernel_calls(cnn, 2)], engine_nests(cnn, 2), strict=True))
    border, windows = kernels["im2col", "conv1"].stages
    assert border.passes[0].run == 12 * 3
    assert windows.passes[0].run == 3 * 3
    bias, relu = kernels["activation", "conv1"].stages[0].passes
    assert (bias.run, relu.run) == (12, 2 * 12 * 12 * 12)


@pytest.mark.parametrize("cnn", [load_cnn("alexnet"), *make_residual_cnns(2, seed=1)], ids=lambda cnn: cnn.name)
def test_every_kernel_of_every_kind_of_layer_has_its_columns(cnn: CnnSpec) -> None:
    caches = [
        CacheLevel("l1", 32768, LINE),
        CacheLevel("l2", 2**20, LINE),
        CacheLevel("l3", 2**25, LINE),
        CacheLevel("tlb", 2**23, 4096),
    ]
    table = engine_columns(cnn, 2, caches)
    calls = kernel_calls(cnn, 2)
    assert table[["kernel", "layer"]].to_numpy().tolist() == [[call.kernel, call.layer] for call in calls]
    misses = table[["misses_l1", "misses_l2", "misses_l3"]].to_numpy()
    assert (np.diff(misses, axis=1) <= 1e-6 * misses[:, :1] + 1e-9).all()
    assert (table["misses_l1"] >= 0).all()
    memory = np.array([not call.trans for call in calls])
    assert (table.loc[memory, "inner_runs"] >= 1).all()
    assert (table.loc[~memory, "inner_runs"] == 0).all()


def test_a_product_touches_its_three_matrices() -> None:
    """Distinct elements of A, B and C, whatever the blocking."""
    cnn = load_cnn("alexnet")
    for call, kernel in zip(kernel_calls(cnn, 2), engine_nests(cnn, 2), strict=True):
        if not call.trans or call.kernel == "dedb":
            continue
        lines = nest_lines(nest_addresses(kernel.nest), 4)
        own = sum(count for name, count in lines.items() if not name.startswith("packed"))
        assert own == pytest.approx(call.groups * (call.m * call.k + call.k * call.n + call.m * call.n), rel=0.06)
