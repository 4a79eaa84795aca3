"""Sizes of matrix products."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from profiles import complete, kernel, launch, write

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.products import products


@pytest.mark.parametrize(
    ("operator", "shapes", "size"),
    [
        ("aten::mm", [[2, 3], [3, 5]], (2, 5, 3, 1)),
        ("aten::addmm", [[5], [2, 3], [3, 5], [], []], (2, 5, 3, 1)),
        ("aten::bmm", [[7, 2, 3], [7, 3, 5]], (2, 5, 3, 7)),
        ("aten::baddbmm", [[7, 2, 5], [7, 2, 3], [7, 3, 5]], (2, 5, 3, 7)),
    ],
)
def test_shapes_of_arguments_tell_the_size(operator: str, shapes: list[list[int]], size: tuple[int, ...], tmp_path: Path) -> None:
    events = [complete("cpu_op", operator, 0, 10, **{"Input Dims": shapes}), launch(2, 1, 1), kernel(5, 3, 1)]
    found = products(read_chrome(write(tmp_path / "a.json", events, 0)))
    assert tuple(found.loc[0, ["m", "n", "k", "batch"]]) == size
    assert found.loc[0, "n_flops"] == 2 * 2 * 3 * 5 * size[3]
    assert found.loc[0, "mean_s"] == pytest.approx(3e-6)


def test_what_tells_no_size_is_no_product(tmp_path: Path) -> None:
    events = [complete("cpu_op", "aten::mm", 0, 10, **{"Input Dims": [[2], 7]}), launch(2, 1, 1), kernel(5, 3, 1), kernel(9, 1, 2)]
    assert products(read_chrome(write(tmp_path / "a.json", events, 0))).empty


@pytest.mark.data
@pytest.mark.parametrize("name", ["bert_small_h100", "nsfw_vit_h100", "qwen_05b_h100", "timesformer_h100", "owlv2_large_h100"])
def test_sizes_are_those_of_an_independent_tool(name: str, shared_data: Path) -> None:
    """Rung E6: counts equal, floating-point operations and times within 0.1 %."""
    reference = pd.read_csv(shared_data / "tracelens" / "reference_gemm.csv")
    keys = ["operator", "m", "n", "k", "batch"]
    expected = reference[reference["trace"] == name].set_index(keys).sort_index()
    found = products(read_chrome(shared_data / "tracelens" / f"{name}.json.gz")).set_index(keys).sort_index()
    assert list(found.index) == list(expected.index)
    assert found["n_calls"].tolist() == expected["count"].tolist()
    assert (found["n_flops"] / 1e9).to_numpy() == pytest.approx(expected["gflop"].to_numpy(), rel=1e-3)
    for ours, theirs in (("mean_s", "mean_us"), ("min_s", "min_us"), ("max_s", "max_us")):
        assert (found[ours] * 1e6).to_numpy() == pytest.approx(expected[theirs].to_numpy(), rel=1e-3)
