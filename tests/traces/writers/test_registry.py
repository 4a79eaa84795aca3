"""Every writer is there."""

from __future__ import annotations

from importlib import import_module

import pytest

from mlperf.traces.readers.registry import READERS
from mlperf.traces.writers.registry import WRITERS


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_can_be_read(name: str) -> None:
    suffix, target = WRITERS[name]
    module, _, function = target.partition(":")
    assert callable(getattr(import_module(module), function))
    assert suffix in READERS.get(name, READERS["chrome"]).suffixes
