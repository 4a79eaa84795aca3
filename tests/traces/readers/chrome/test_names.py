"""What names of profilers' files tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.traces.readers.chrome.names import cycles_of, rank_in


@pytest.mark.parametrize(
    ("name", "rank"),
    [("rank_3.json", 3), ("trace-rank12.json.gz", 12), ("worker-7.json", 7), ("frank1.json", None), ("trace_3.json", None)],
)
def test_ranks_in_names(name: str, rank: int | None) -> None:
    assert rank_in(name) == rank


def test_cycles_are_in_the_order_of_their_writing_not_of_their_names() -> None:
    names = ["a.10000000001.pt.trace.json.gz", "a.9999999999.pt.trace.json.gz", "b.c.9999999999.pt.trace.json"]
    found = cycles_of(names)
    assert {worker: [path.name for path in paths] for worker, paths in found.items()} == {"a": names[1::-1], "b.c": names[2:]}


def test_other_names_tell_no_cycles() -> None:
    assert cycles_of([Path("a.9999999999.pt.trace.json"), Path("rank_0.json")]) == {}
