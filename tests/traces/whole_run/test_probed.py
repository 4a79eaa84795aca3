"""Sources with their probes as a table."""

from __future__ import annotations

from mlperf.traces.sources.registry import make_source
from mlperf.traces.sources.source import ABSENT, OK, Probe
from mlperf.traces.whole_run.probed import probed


def test_a_row_for_each() -> None:
    sources = [make_source("marks"), make_source("strace")]
    found = probed(sources, {"marks": Probe(OK, "why"), "strace": Probe(ABSENT, "none", "install it")}).to_frame()
    assert found["source"].tolist() == ["marks", "strace"]
    assert found["status"].tolist() == ["ok", "absent"]
    assert found["by_default"].tolist() == [True, False]
    assert found["hint"].tolist() == ["", "install it"]
