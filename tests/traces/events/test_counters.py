"""Series over time: what is put in comes out, rates hold since the reading before."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.events.counters import Series, counter_table, joined_counters

CPU = Series("cpu.user", "cores", "cpu0")
OTHER = Series("cpu.user", "cores", "cpu1")
DISK = Series("disk.read", "bytes/s", "sda")


def test_readings_are_kept_by_time() -> None:
    table = counter_table([(CPU, [30, 10], [3.0, 1.0]), (DISK, [20], [7.0])], origin_ns=5, notes=["one"])
    assert table.time_ns.tolist() == [10, 20, 30]
    assert table.value.tolist() == [1.0, 7.0, 3.0]
    assert [table.about[number] for number in table.series.tolist()] == [CPU, DISK, CPU]
    assert (table.origin_ns, table.notes, len(table)) == (5, ("one",), 3)
    assert table.of(table.numbers("cpu.user", "cpu0")[0])[1].tolist() == [1.0, 3.0]


def test_a_mean_weighs_by_how_long_a_rate_held() -> None:
    # cpu0: 1 from 0 to 10, 3 from 10 to 40. cpu1: 2 all along.
    table = counter_table([(CPU, [0, 10, 40], [9.0, 1.0, 3.0]), (OTHER, [0, 40], [0.0, 2.0])])
    assert table.mean("cpu.user", 0, 40) == pytest.approx((10 * 1 + 30 * 3) / 40 + 2)
    assert table.mean("cpu.user", 5, 15, "cpu0") == pytest.approx(2.0)
    assert np.isnan(table.mean("cpu.user", 50, 60))
    assert np.isnan(table.mean("net.sent", 0, 40))


def test_tables_join_on_the_earliest_origin() -> None:
    one = counter_table([(CPU, [10], [1.0])], origin_ns=100, notes=["a"])
    other = counter_table([(CPU, [10], [2.0]), (DISK, [0], [5.0])], origin_ns=50, notes=["b"])
    both = joined_counters([one, other])
    assert both.origin_ns == 50
    assert both.time_ns.tolist() == [0, 10, 60]
    assert both.value.tolist() == [5.0, 2.0, 1.0]
    assert both.about == (CPU, DISK)
    assert both.notes == ("a", "b")


def test_a_frame_names_the_series() -> None:
    frame = counter_table([(DISK, [3], [7.0])]).to_frame()
    assert frame.to_dict("records") == [
        {"time_ns": 3, "name": "disk.read", "what": "sda", "unit": "bytes/s", "host": -1, "rank": -1, "value": 7.0}
    ]


def test_times_and_values_must_pair() -> None:
    with pytest.raises(ValueError, match=r"cpu\.user: 2 times and 1 values"):
        counter_table([(CPU, [1, 2], [1.0])])
