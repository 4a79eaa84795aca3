"""Tables of a report, on the page and as files."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from page_recordings import EVIL, N_STEPS, everything

from mlperf.core.errors import UsageError
from mlperf.report.recordings.page.gather import gather_parts
from mlperf.report.recordings.page.parts import PageParts
from mlperf.report.recordings.page.tables import clock_table, heaviest_functions, page_tables, write_tables


def test_files_hold_what_the_tables_hold(tmp_path: Path) -> None:
    tables = page_tables(gather_parts(everything()))
    written = write_tables(tables, tmp_path / "tables")
    assert (
        {path.stem for path in written} == set(tables) >= {"step", "steps", "concurrency", "matrix", "swarms", "sources", "clocks"}
    )
    steps = pd.read_csv(tmp_path / "tables" / "steps.csv")
    assert len(steps) == 2 * N_STEPS
    pd.testing.assert_frame_equal(steps, tables["steps"].frame, check_dtype=False)
    told = json.loads((tmp_path / "tables" / "matrix.json").read_text(encoding="utf-8"))
    row = dict(zip(told["columns"], told["rows"][0], strict=True))
    assert row["size_bytes"] in (1000 * N_STEPS, 1500 * N_STEPS)


def test_functions_by_processor_time_add_up() -> None:
    recording = everything()
    every = heaviest_functions(recording.events)
    assert every["share"].sum() == pytest.approx(1.0)
    assert every["cpu_s"].sum() == pytest.approx(2 * N_STEPS * 0.06)
    assert every["function"].iloc[0].startswith("</script>")
    cut = heaviest_functions(recording.events, 1)
    assert cut["function"].tolist()[1] == "(2 more)"
    assert cut["share"].sum() == pytest.approx(1.0)
    assert EVIL in set(every["function"])


def test_clocks_tell_half_of_what_a_reading_took_and_the_drift() -> None:
    recording = everything()
    (row,) = clock_table(recording.about, recording.events).to_dict("records")
    assert row["uncertainty_s"] == pytest.approx(200e-9)
    # From 4,999,800 ns ahead to 5,000,200 ns.
    assert row["drift_s"] == pytest.approx(400e-9)
    ranked = recording.events.replace(attributes={"clock_uncertainty_ns": {"0": 0, "1": 700}})
    assert clock_table({}, ranked)["uncertainty_s"].tolist() == [0.0, pytest.approx(700e-9)]


def test_a_recording_alone_has_its_sources() -> None:
    tables = page_tables(PageParts(everything()))
    assert "step" not in tables
    assert tables["sources"].frame["status"].tolist() == ["ok", "absent"]


def test_a_place_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be made"):
        write_tables({}, tmp_path / "file" / "inside")
