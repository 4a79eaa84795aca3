"""Series of a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from page_recordings import everything

from mlperf.report.recordings.page.packing import unpacked
from mlperf.report.recordings.page.parts import PageParts
from mlperf.report.recordings.page.series import MOST_COLUMNS, MOST_SERIES, series_document, series_summary
from mlperf.traces.events.counters import Series, counter_table
from mlperf.traces.events.table import event_table
from mlperf.traces.whole_run.recording import Recording


def test_few_readings_are_as_they_were_read() -> None:
    recording = everything()
    found = series_document(PageParts(recording), 1000)["series"]
    network = next(each for each in found if each["name"] == "net.received")
    np.testing.assert_allclose(unpacked(network["high"], "f4"), np.linspace(0, 1e6, 12), rtol=1e-6)
    assert unpacked(network["time"], "u4").tolist() == [number * 100_000 for number in range(1, 13)]
    assert (network["unit"], network["what"]) == ("bytes/s", "<b>eth0</b>")


def test_a_peak_stays_and_what_is_left_out_is_said() -> None:
    times, value = np.arange(100_000), np.zeros(100_000)
    value[777] = 5.0
    many = [(Series("x", "cores", str(number)), times[:2], [1.0, 2.0]) for number in range(MOST_SERIES + 1)]
    counters = counter_table([(Series("peak", "1/s"), times, value), (Series("nothing", "1/s"), times[:2], [0.0, 0.0]), *many])
    found = series_document(PageParts(Recording(Path("a"), {}, event_table(0), counters, 0, 100_000)), 1)
    peak = found["series"][0]
    assert peak["n"] <= MOST_COLUMNS
    assert unpacked(peak["high"], "f4").max() == 5.0
    assert "nothing" not in {each["name"] for each in found["series"]}
    assert found["notes"] == ["2 series are not drawn; the tables have all"]


def test_the_summary_has_every_series() -> None:
    table = series_summary(everything().counters).set_index("series")
    assert table.loc["cpu.user", ["n_readings", "mean", "largest"]].tolist() == [12, 1.5, 1.5]
    assert len(table) == 3
