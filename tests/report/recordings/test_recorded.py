"""What a recorded run says first, and what of it is shown."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.report.recordings.recorded import probed_answer, probed_sections, recorded_answer, recorded_sections
from mlperf.traces.whole_run.probed import Probed
from mlperf.traces.whole_run.recorded import RecordedRun

SOURCES = pd.DataFrame([["marks", "ok", "", "", 0.0, 10]], columns=["source", "status", "reason", "hint", "cpu_s", "size_bytes"])
FOUND = RecordedRun("run", "python x.py", 0, False, 2.0, 3.0, float("nan"), 0.1, 1234, 5, 60, SOURCES, ("a note",))


def test_the_first_line() -> None:
    told = str(recorded_answer(FOUND))
    assert "python x.py (exit code 0)" in told
    assert "1,234 events" in told


def test_sections_hold_sources_and_costs() -> None:
    sources, run, notes = recorded_sections(FOUND)
    assert sources.frame is SOURCES
    assert "no samples" in run.frame["value"].tolist()
    assert any("100 ms (5.00 % of one core)" in value for value in run.frame["value"])
    assert notes.text == "A note."


@pytest.mark.parametrize(("status", "n"), [("ok", 1), ("absent", 0)])
def test_what_a_machine_offers(status: str, n: int) -> None:
    columns = ["source", "status", "by_default", "about", "reason", "hint"]
    found = Probed(pd.DataFrame([["perf", status, True, "samples", "why", "install"]], columns=columns))
    assert f"{n} of 1 source" in str(probed_answer(found))
    assert probed_sections(found)[1].frame["hint"].tolist() == ["install"]
