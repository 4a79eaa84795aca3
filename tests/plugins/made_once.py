"""What takes long to make is made once a test run, whichever worker asks first."""

from __future__ import annotations

import fcntl
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Once = Callable[[str, Callable[[], Any]], Any]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """``made_once(name, make)`` is what ``make()`` returned in the first worker that came here; the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made-once"
    folder.mkdir(exist_ok=True)
    known: dict[str, Any] = {}

    def made(name: str, make: Callable[[], Any]) -> Any:
        if name not in known:
            known[name] = shared(re.sub(r"\W", "_", name), make)
        return known[name]

    def shared(name: str, make: Callable[[], Any]) -> Any:
        path = folder / f"{name}.pickle"
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _write(path, make())
        return pickle.loads(path.read_bytes())  # noqa: S301 - written by this run of the tests

    return made


def _write(path: Path, made: Any) -> None:
    """Whole or not at all: a worker may be ended while it writes."""
    part = path.with_suffix(".part")
    part.write_bytes(pickle.dumps(made))
    part.replace(path)
