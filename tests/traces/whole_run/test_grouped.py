from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_recordings import MS, Made

from mlperf.core.errors import DataError
from mlperf.traces.whole_run.grouped import swarms_of


def alternating(maker: Made, n_steps: int = 20, *, is_marked: bool = True) -> Made:
    """Steps that decode for 30 ms, then multiply for 60 ms."""
    for number in range(n_steps):
        at = number * 100 * MS
        if is_marked:
            maker.marks(at, {"load": 40 * MS, "forward": 60 * MS})
        maker.samples(at + (number % 3) * MS, at + 30 * MS, "jpeg_decode", every_ns=MS)
        maker.samples(at + 40 * MS, at + 100 * MS, "sgemm", every_ns=MS)
    return maker


def test_pairs_are_tested_in_the_steps(made: Callable[[], Made]) -> None:
    found = swarms_of(alternating(made()).recording())
    row = found.pairs.iloc[0]
    assert (row["first"], row["second"], row["verdict"], row["share"]) == ("decode", "gemm", "follows", 1.0)
    assert row["lag_s"] == pytest.approx(0.039, abs=0.002)


def test_without_steps_swarms_are_told_and_why_there_are_no_pairs(made: Callable[[], Made]) -> None:
    maker = made()
    maker.add(13, 0, 0, "sgemm", name2="a.so", rank=0, pid=10, tid=1, weight_ns=MS)
    found = swarms_of(maker.recording())
    assert found.swarms["name"].tolist() == ["gemm"]
    assert found.pairs.empty
    assert any(note.startswith("pairs of swarms are not tested: no steps found") for note in found.notes)


def test_a_marker_that_is_not_there_is_an_error(made: Callable[[], Made]) -> None:
    with pytest.raises(DataError, match="no mark fits"):
        swarms_of(alternating(made()).recording(), marker="epoch")


def test_own_keywords_are_taken(made: Callable[[], Made], tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[[swarm]]\nname = "pictures"\nwords = ["jpeg"]\n')
    assert "pictures" in swarms_of(alternating(made()).recording(), keywords=path).swarms["name"].tolist()
