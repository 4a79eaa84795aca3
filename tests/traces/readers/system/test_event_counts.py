"""Counted events as rates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.counters import CounterTable
from mlperf.traces.readers.system.event_counts import read_event_counts, series_name, span_line

S = 1_000_000_000


def read(folder: Path, text: str) -> CounterTable:
    path = folder / "counts.txt"
    path.write_text(text)
    return read_event_counts(path)


def test_rates_hold_since_the_sample_before(tmp_path: Path) -> None:
    text = span_line(1 * S, 4 * S, ["cache-misses", "page-faults"])
    text += " 7/8  2.000000:   500 cache_misses: \n 7/9  3.000000000:  100 cache_misses:\n 7/8  3.000000:   100 cache_misses:u:\n"
    found = read(tmp_path, text)
    times, rates = found.of(found.numbers("run.cache_misses")[0])
    assert times.tolist() == [1 * S, 2 * S, 3 * S, 4 * S]
    assert rates.tolist() == [0.0, 500.0, 200.0, 0.0]
    assert found.mean("run.cache_misses", 1 * S, 4 * S) * 3 == pytest.approx(700)
    # What never happened was counted, too.
    assert found.mean("run.page_faults", 1 * S, 4 * S) == 0.0
    assert np.isnan(found.mean("run.instructions", 1 * S, 4 * S))


def test_without_the_span_rates_begin_with_the_first_sample(tmp_path: Path) -> None:
    found = read(tmp_path, "7/8 2.000000: 64 page-faults/period=64/u:\n7/8 2.500000: 64 page-faults/period=64/u:\n")
    times, rates = found.of(0)
    assert times.tolist() == [2 * S, 2 * S + S // 2]
    assert rates.tolist() == [0.0, 128.0]
    assert found.about[0].name == series_name("page-faults")


@pytest.mark.parametrize("event", ["{}/cache-misses/u:", "{}/cache-misses:u/:", "{}/cache-misses,freq=199/u:", "{}/cache-misses/:"])
def test_events_of_every_kind_of_cores_are_one_series(tmp_path: Path, event: str) -> None:
    lines = [(2, 500, "cpu_core"), (3, 200, "cpu_atom"), (4, 60, "armv8_cortex_a53")]
    text = span_line(1 * S, 4 * S, ["cache-misses"])
    found = read(tmp_path, text + "".join(f" 7/8 {at}.000000: {n} {event.format(kind)} \n" for at, n, kind in lines))
    assert [each.name for each in found.about] == ["run.cache_misses"]
    assert found.mean("run.cache_misses", 1 * S, 4 * S) * 3 == pytest.approx(760)


def test_another_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"counts\.txt, line 2"):
        read(tmp_path, "7/8 2.000000: 64 faults:\nno sample\n")
