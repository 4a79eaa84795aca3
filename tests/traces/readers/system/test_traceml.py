"""Final summaries with the keys that TraceML's schema 1.9 lists (its SCHEMA.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.system.traceml import is_traceml, read_traceml

METRICS = {
    "input_wait_ms": 80.0,
    "step_time_ms": 240.0,
    "h2d_ms": None,
    "forward_ms": 40.0,
    "backward_ms": 70.0,
    "optimizer_ms": 10.0,
    "residual_ms": 40.0,
}
SUMMARY: dict[str, Any] = {
    "schema_version": 1.9,
    "analysis_window": {"anchor": "step_time"},
    "primary_diagnosis": {"kind": "INPUT_BOUND", "status": "INPUT-BOUND", "summary": "waits for input"},
    "step_time": {
        "global": {"window": {"steps_analyzed": 256}},
        "groups": {"by": "global_rank", "rows": {"1": {"metrics": METRICS}, "0": {"metrics": {**METRICS, "step_time_ms": 250.0}}}},
    },
}


def read(tmp_path: Path, document: Any):
    path = tmp_path / "final_summary.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return read_traceml(path)


def test_times_of_ranks(tmp_path: Path) -> None:
    found = read(tmp_path, SUMMARY)
    assert is_traceml(tmp_path / "final_summary.json")
    assert (found.verdict, found.why, found.n_steps) == ("INPUT-BOUND", "waits for input", 256)
    assert found.ranks["rank"].tolist() == [0, 1]
    assert found.ranks["step_s"].tolist() == pytest.approx([0.25, 0.24])
    assert found.ranks["load_s"].tolist() == pytest.approx([0.08, 0.08])
    assert found.ranks["h2d_s"].isna().all()
    assert found.notes == ("not measured: h2d_s",)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is not JSON"),
        ([], "no summary of TraceML"),
        ({**SUMMARY, "schema_version": 1.4}, "got schema 1.4"),
        ({**SUMMARY, "step_time": None}, "key step_time"),
        ({**SUMMARY, "step_time": {"global": {"window": {}}, "groups": {"rows": {}}}}, "holds no steps"),
        (
            {**SUMMARY, "step_time": {"global": {"window": {}}, "groups": {"rows": {"0": {"metrics": {"step_time_ms": -1}}}}}},
            "step_time_ms",
        ),
        ({**SUMMARY, "step_time": {"global": {"window": {}}, "groups": {"rows": {"x": {}}}}}, "a rank's row"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, document)
    assert not is_traceml(tmp_path)
