"""What can be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.loggps.request import QUICK_SIZES, SIZES, LogGPSRequest
from mlperf.core.errors import UsageError


def test_sizes_ascend_on_both_grids() -> None:
    for sizes in (SIZES, QUICK_SIZES):
        assert list(sizes) == sorted(set(sizes))
        assert sizes[0] == 1
    assert LogGPSRequest(Path("n.toml"), quick=True).sizes == QUICK_SIZES


@pytest.mark.parametrize(("options", "words"), [({"repeats": 9}, "at least 10"), ({"transport": "pigeon"}, "transport 'pigeon'")])
def test_what_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LogGPSRequest(Path("n.toml"), **options)  # type: ignore[arg-type]
