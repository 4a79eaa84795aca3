"""Sizes of products from the shapes of operators."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiled_ranks import STEADY, write_job

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.products import PRODUCTS, products


def test_a_product_has_its_size_and_times(tmp_path: Path) -> None:
    """[64, 32] x [32, 16]: 2 * 64 * 16 * 32 operations."""
    found = products(read_chrome(write_job(tmp_path)[0]))
    row = found.iloc[0]
    assert (row["operator"], row["m"], row["n"], row["k"], row["batch"]) == ("aten::mm", 64, 16, 32, 1)
    assert (row["n_kernels"], row["n_flops"]) == (4, 65_536)
    assert row["mean_s"] == pytest.approx(sum(work[0] for work in STEADY) / 4 * 1e-6)


@pytest.mark.parametrize(
    ("operator", "shapes", "size"),
    [
        ("aten::mm", [[2, 3], [3, 5]], (2, 3, 5, 1)),
        ("aten::addmm", [[5], [2, 3], [3, 5]], (2, 3, 5, 1)),
        ("aten::bmm", [[7, 2, 3], [7, 3, 5]], (2, 3, 5, 7)),
        ("aten::baddbmm", [[7, 2, 5], [7, 2, 3], [7, 3, 5]], (2, 3, 5, 7)),
    ],
)
def test_shapes_tell_m_k_n_and_batch(operator: str, shapes: list[list[int]], size: tuple[int, ...]) -> None:
    assert PRODUCTS[operator](shapes) == size
