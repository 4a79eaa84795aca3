"""What differs between two recordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles import GEMM, complete, kernel, step, write

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.difference import difference


def copies(number: int) -> list[dict[str, object]]:
    return [complete("gpu_memcpy", "Memcpy DtoD", 100 + place, 0.5, 0, 7, device=0, stream=7) for place in range(number)]


def test_what_is_new_gone_more_and_slower_is_named(tmp_path: Path) -> None:
    first = [kernel(1, 4, 1), kernel(6, 2, 2, "old"), *copies(1)]
    second = [kernel(1, 12, 1), kernel(14, 2, 2, "fresh"), *copies(20)]
    found = difference(*(read_chrome(write(tmp_path / f"{name}.json", each, 0)) for name, each in (("a", first), ("b", second))))
    assert found.groups["what"].tolist() == ["copies", "kernels"]
    assert found.groups["difference"].tolist() == ["20 x as many", "each 2.33 x as long"]
    named = dict(zip(found.names["name"], found.names["difference"], strict=True))
    assert named == {GEMM: "each 3 x as long", "old": "gone", "fresh": "new", "Memcpy DtoD": "20 x as many"}
    assert found.names["name"].iloc[0] == "Memcpy DtoD"


def test_numbers_of_ranks_and_steps_agree_with_their_nouns(tmp_path: Path) -> None:
    first, second = [step(1, 0, 9), kernel(1, 4, 1)], [step(1, 0, 9), step(2, 9, 9), kernel(1, 4, 1)]
    found = difference(*(read_chrome(write(tmp_path / f"{name}.json", each, 0)) for name, each in (("a", first), ("b", second))))
    assert "the first has 1 rank and 1 step, the second 1 rank and 2 steps: counts and times are sums" in found.notes


def test_without_a_device_functions_of_the_host_are_named_by_their_own_time(tmp_path: Path) -> None:
    """The outer function lasts 6 us longer, all of it in the inner one; objects lie elsewhere, steps have other numbers."""
    traces = []
    for number, inner_us, address in ((1, 4, "0x7f28a5952290"), (5, 10, "0x7f11bbbb0010")):
        method = complete("python_function", f"<method of object at {address}>", 0, 1)
        outer = complete("cpu_op", "aten::conv2d", 2, inner_us + 3)
        inner = complete("cpu_op", "aten::mm", 3, inner_us)
        traces.append(write(tmp_path / f"{number}.json", [step(number, 0, 20), method, outer, inner], 0))
    found = difference(*map(read_chrome, traces))
    assert dict(zip(found.names["name"], found.names["difference"], strict=True)) == {
        "aten::mm": "each 2.5 x as long",
        "aten::conv2d": "as before",
        "<method of object at 0x...>": "as before",
    }
    assert found.names["change_s"].iloc[0] == pytest.approx(6e-6)


def test_a_trace_differs_from_itself_in_nothing(tmp_path: Path) -> None:
    table = read_chrome(write(tmp_path / "a.json", [kernel(1, 4, 1), *copies(3)], 0))
    found = difference(table, table)
    assert set(found.groups["difference"]) == set(found.names["difference"]) == {"as before"}
    assert found.names["change_s"].abs().max() == 0


@pytest.mark.data
def test_two_real_runs_differ_in_copies_and_collectives(shared_data: Path) -> None:
    """Rung E7: the counts of the data's description; 20-fold copies and slower collectives are among the first five differences."""
    folder = shared_data / "kineto_odd"
    found = difference(*(read_chrome(folder / f"{name}.json.gz") for name in ("compare_control_a100", "compare_test_v100")))
    rows = found.groups.set_index("what")
    assert (rows.loc["copies", "n_first"], rows.loc["copies", "n_second"]) == (228, 4856)
    assert (rows.loc["collective operations", "n_first"], rows.loc["collective operations", "n_second"]) == (60, 64)
    kernels = rows.loc[["kernels", "collective operations"], ["n_first", "n_second"]].sum()
    assert kernels.tolist() == [8568, 9876]
    times = rows.loc["collective operations", ["time_first_s", "time_second_s"]].astype(float) * 1e3
    assert times.to_numpy() == pytest.approx([163.53, 251.34], abs=0.01)
    assert found.n_steps == (6, 6)
    for table in (found.groups, found.names):
        leading = table.head(5)
        assert (leading["what"] == "copies").any()
        slower = leading[leading["what"] == "collective operations"]
        assert (slower["mean_ratio"] > 1).any()
    assert any("devices differ" in note for note in found.notes)


@pytest.mark.data
def test_two_small_runs(shared_data: Path) -> None:
    """33 and 34 events, 6 and 5 kernels."""
    folder = shared_data / "kineto_traces"
    found = difference(*(read_chrome(folder / f"compare_{name}.json.gz") for name in ("base", "test")))
    assert found.groups[["n_first", "n_second"]].sum().tolist() == [33, 34]
    kernels = found.groups.set_index("what").loc["kernels"]
    assert (kernels["n_first"], kernels["n_second"]) == (6, 5)
