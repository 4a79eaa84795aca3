"""A report read from a file prints what it printed when it was made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf

N_ROWS = 80


@pytest.fixture
def model() -> mlperf.StepwiseOLS:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.uniform(1, 9, N_ROWS), "b": rng.uniform(1, 9, N_ROWS), "kind": rng.choice(list("xyz"), N_ROWS)})
    times = (5 + 2 * table["a"] + (table["kind"] == "y")) * np.exp(0.03 * rng.standard_normal(N_ROWS))
    return mlperf.StepwiseOLS(terms=["a", "b", "kind"], noise="relative", ordered=True).fit(
        table, times, groups=np.arange(N_ROWS) // 4
    )


def test_the_stored_report_prints_the_same_text(model: mlperf.StepwiseOLS, tmp_path: Path) -> None:
    mlperf.save_model(model, tmp_path / "model.json")
    again = mlperf.load_model(tmp_path / "model.json")
    assert str(again.report_) == str(model.report_)
    for words in ("HC3", "VIF", "p (selective)", "kept", "breusch_pagan", "Cook", "Durbin-Watson"):
        assert words in str(again.report_)
    assert again.trace_text_ == model.trace_text_
    assert "- b" in again.trace_text_
    mlperf.save_model(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_files_of_earlier_releases_lack_the_blocks(model: mlperf.StepwiseOLS, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    mlperf.save_model(model, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["report"]["row_figures"], document["trace"]
    path.write_text(json.dumps(document), encoding="utf-8")
    old = mlperf.load_model(path)
    assert "HC3" not in str(old.report_)
    assert not old.report_.has_row_figures
    with pytest.raises(AttributeError, match="not its trace"):
        _ = old.trace_text_
