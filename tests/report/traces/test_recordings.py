"""How recordings and measured networks are shown."""

from __future__ import annotations

import pandas as pd

from mlperf.collect.loggps.summary import MeasuredNetwork
from mlperf.report.traces.recordings import network_sections, recording_answer, recording_sections
from mlperf.traces.recording.profile import COLUMNS
from mlperf.traces.recording.recorded import REGION_COLUMNS, Recorded

NAN = float("nan")


def recording(**changes: object) -> Recorded:
    """Four ranks, one region recorded in part."""
    values: dict[str, object] = {
        "folder": "run",
        "command": ("mpiexec", "program"),
        "command_exit_code": 3,
        "wall_s": 1.0,
        "n_ranks": 4,
        "n_events": 1200,
        "n_bytes": 96_000,
        "bytes_per_event": 80.0,
        "own_share": 0.004,
        "selected": "region solve",
        "scale": 5.0,
        "regions": pd.DataFrame([("solve", 10.0, 2.0, 1.0, 0.2)], columns=list(REGION_COLUMNS)),
        "calls": pd.DataFrame(),
    }
    return Recorded(**{**values, **changes})  # type: ignore[arg-type]


def test_size_cost_and_scale_are_said() -> None:
    regions, summary = recording_sections(recording())
    assert regions.frame is not None
    assert regions.frame["region"].tolist() == ["solve"]
    assert summary.frame is not None
    values = summary.frame.set_index("what")["value"]
    assert values["events"] == "1,200"
    assert values["bytes per event"] == "80.00"
    assert values["recorder's share of the ranks' time"] == "0.40 %"
    assert values["scale to the run"] == "5.000"
    assert values["exit code"] == "3"


def test_what_is_not_known_is_empty() -> None:
    found = recording(
        n_events=0, bytes_per_event=NAN, own_share=NAN, selected="", regions=pd.DataFrame(columns=list(REGION_COLUMNS))
    )
    (summary,) = recording_sections(found)
    assert summary.frame is not None
    values = summary.frame.set_index("what")["value"]
    assert values[["bytes per event", "recorder's share of the ranks' time", "selected"]].tolist() == ["", "", "everything"]


def test_a_profile_comes_first() -> None:
    calls = pd.DataFrame([("solve", "MPI_Send", "a.c:3 f", 9, 0.1, 80)] * 30, columns=list(COLUMNS))
    sections = recording_sections(recording(calls=calls))
    assert sections[0].title.startswith("Calls")
    assert sections[0].frame is not None
    assert len(sections[0].frame) == 20


def test_the_first_line_counts() -> None:
    answer = recording_answer(recording())
    assert answer.found == "1,200 events of 4 ranks in run"
    assert answer.asked == "mpiexec program (exit code 3)"


def test_a_network_is_its_parameters_and_times() -> None:
    parameters, times = pd.DataFrame({"parameter": ["L"]}), pd.DataFrame({"size_bytes": [1]})
    sections = network_sections(MeasuredNetwork("n.toml", "tcp", parameters, times, 1.0, ()))
    assert [section.frame is frame for section, frame in zip(sections, (parameters, times), strict=True)] == [True, True]
