"""Fixtures shared by all tests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).parent / "reference"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the open data that the repository does not carry (``MLPERF_SHARED_DATA``)."""
    folder = os.environ.get("MLPERF_SHARED_DATA")
    if folder:
        if not Path(folder).is_dir():
            pytest.fail(f"MLPERF_SHARED_DATA names {folder!r}, which is no folder")
        return Path(folder)
    reason = "MLPERF_SHARED_DATA is not set: the open data are read in place and not part of the repository"
    if os.environ.get("MLPERF_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def reference() -> Any:
    """Read a stored reference table: ``reference("barrier.json")``."""

    def read(name: str) -> Any:
        return json.loads((REFERENCE / name).read_text(encoding="utf-8"))

    return read
