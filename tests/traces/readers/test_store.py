"""Stored traces come back as they were, and damaged ones are refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from message_programs import Run, random_program, recorded

from mlperf.core.errors import DataError
from mlperf.traces.events.table import COLUMNS, EventTable
from mlperf.traces.readers.store import read_store
from mlperf.traces.writers.store import write_store


@pytest.fixture
def stored(tmp_path: Path) -> tuple[EventTable, Path]:
    program = random_program(3)
    table = recorded(program, Run(program))[0].replace(
        attributes={"n_ranks": 9, "clock_uncertainty_ns": {0: 5, 1: 7}}, notes=("é",), origin_ns=-5, strings=("a", "", "ü")
    )
    write_store(table, tmp_path / "run.npz")
    return table, tmp_path / "run.npz"


def test_everything_comes_back(stored: tuple[EventTable, Path]) -> None:
    table, path = stored
    found = read_store(path)
    for name in COLUMNS:
        assert np.array_equal(getattr(found, name), getattr(table, name)), name
        assert getattr(found, name).dtype == getattr(table, name).dtype
    for name in ("strings", "sources", "origin_ns", "notes", "attributes"):
        assert getattr(found, name) == getattr(table, name), name


def rewritten(path: Path, **changed: bytes) -> Path:
    """The archive with some members replaced."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, **{name.replace("__", "."): content for name, content in changed.items()}}.items():
            archive.writestr(name, content)
    return path


def array(values: object, kind: str) -> bytes:
    content = io.BytesIO()
    np.save(content, np.array(values, dtype=kind), allow_pickle=True)
    return content.getvalue()


def test_columns_must_fit_each_other(stored: tuple[EventTable, Path]) -> None:
    n_events = len(stored[0])
    with pytest.raises(DataError, match=r"column rank: got int32 of shape \(2,\)"):
        read_store(rewritten(stored[1], rank__npy=array([0, 1], "int32")))
    with pytest.raises(DataError, match="column rank: got float64"):
        read_store(rewritten(stored[1], rank__npy=array([0.0] * n_events, "float64")))


def test_numbers_must_point_somewhere(stored: tuple[EventTable, Path]) -> None:
    with pytest.raises(DataError, match="column match: points to 99999"):
        read_store(rewritten(stored[1], match__npy=array([99999] * len(stored[0]), "int64")))


def test_objects_are_never_unpickled(stored: tuple[EventTable, Path]) -> None:
    with pytest.raises(DataError, match="is no stored trace"):
        read_store(rewritten(stored[1], rank__npy=array([{}] * len(stored[0]), "object")))


@pytest.mark.parametrize("document", [b"[]", b"{", json.dumps({"format": "mlperf-trace", "version": 2}).encode()])
def test_another_document_is_refused(stored: tuple[EventTable, Path], document: bytes) -> None:
    with pytest.raises(DataError, match="is no stored trace"):
        read_store(rewritten(stored[1], trace__json=document))


def test_half_a_file_is_refused(stored: tuple[EventTable, Path]) -> None:
    stored[1].write_bytes(stored[1].read_bytes()[:500])
    with pytest.raises(DataError, match=r"is no stored trace .*not a zip file"):
        read_store(stored[1])
