"""Rows kept and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.studies.planted_faults.kept import gates_frame, keep_rows, kept_rows


def test_rows_come_back_and_missing_repeats_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no runs"):
        kept_rows(tmp_path, "make.py", ["a"], 1)
    keep_rows([{"run": "a", "repeat": 0, "step_s": 0.5}, {"run": "a", "repeat": 1, "step_s": 0.25}], tmp_path)
    assert kept_rows(tmp_path, "make.py", ["a"], 2)["step_s"].tolist() == [0.5, 0.25]
    assert len(kept_rows(tmp_path, "make.py", ["a", "b"], 2, later=["b"])) == 2
    with pytest.raises(DataError, match="b: got 0 repeats, expected 2"):
        kept_rows(tmp_path, "make.py", ["a", "b"], 2)


def test_a_value_as_large_as_its_limit_is_met() -> None:
    assert gates_frame([("one", 1.0, 1.0), ("other", 1.1, 1.0)])["met"].tolist() == [True, False]
    assert gates_frame([("one", 1.0 + 1e-13, 1.0)], tolerance=1e-12)["met"].all()
