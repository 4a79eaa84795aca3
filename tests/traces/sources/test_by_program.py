"""Sources that programs write themselves run nothing beside them."""

from __future__ import annotations

import threading

import pytest

from mlperf.traces.sources.by_program import ByProgram
from mlperf.traces.sources.registry import make_source


@pytest.mark.parametrize("name", ["marks", "python", "mpi", "torch"])
def test_nothing_is_started(name: str) -> None:
    source = make_source(name)
    assert isinstance(source, ByProgram)
    before = threading.active_count()
    source.follow(1)
    assert threading.active_count() == before
    assert source.stop() == 0.0
