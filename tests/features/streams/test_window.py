"""Windows of a stream: what is returned at t is computable from the rows up to t, by brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.streams.performance import PERFORMANCE
from mlperf.features.streams import Windows, dwc_o, future_targets
from mlperf.features.streams.running import RunningScaler

COLUMNS = ("units", "ctxt", "load1")
PROGRESS = PERFORMANCE["progress"]


def stream(n_rows: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    t_s = np.cumsum(rng.uniform(0.2, 0.3, n_rows))
    values = np.column_stack(
        [np.cumsum(rng.integers(0, 90, n_rows)), np.cumsum(rng.integers(1, 500, n_rows)), rng.random(n_rows) * 4]
    )
    return t_s, values


def pushed(t_s: np.ndarray, values: np.ndarray) -> list:
    windows = Windows(COLUMNS, PROGRESS, 0.25)
    return [windows.push(float(time), row) for time, row in zip(t_s, values, strict=True)]


def test_windows_are_what_the_past_alone_gives() -> None:
    t_s, values = stream()
    found = pushed(t_s, values)
    assert found[0] is None
    rate = np.maximum(np.diff(values[:, 0]) / np.diff(t_s), 1.0)
    level = np.log(rate)
    others = np.log1p(np.column_stack([np.diff(values[:, 1]) / np.diff(t_s), values[1:, 2]]))
    quick = slow = level[0]
    mean = None
    for row, window in enumerate(found[1:]):
        quick, slow = quick + 0.2 * (level[row] - quick), slow + 0.05 * (level[row] - slow)
        past = others[: row + 1]
        scaled = np.clip((past[-1] - past.mean(axis=0)) / np.sqrt(np.maximum(past.var(axis=0), 1e-8)), -4, 4)
        mean = scaled if mean is None else mean + 0.2 * (scaled - mean)
        change = level[row] - level[row - 1] if row else 0.0
        expected = [level[row] - quick, change, level[row] - slow, *(scaled - mean)]
        assert window.performance == pytest.approx(rate[row], rel=1e-12)
        np.testing.assert_allclose(window.terms, expected, rtol=1e-8, atol=1e-9)


def test_nothing_changes_when_the_future_does() -> None:
    t_s, values = stream()
    other = values.copy()
    other[40:] *= 3.0
    for one, two in zip(pushed(t_s, values)[1:40], pushed(t_s, other)[1:40], strict=True):
        assert one.level == two.level
        assert (one.terms == two.terms).all()
        assert (one.scaled == two.scaled).all()


def test_a_sample_without_units_counts_as_a_quarter_of_one() -> None:
    windows = Windows(("units",), PROGRESS, 0.25)
    windows.push(0.0, np.array([5.0]))
    assert windows.push(0.25, np.array([5.0])).performance == 1.0


def test_a_counter_that_falls_counts_as_still_and_is_counted() -> None:
    windows = Windows(("units", "ctxt"), PROGRESS, 0.25)
    windows.push(0.0, np.array([0.0, 100.0]))
    window = windows.push(0.25, np.array([10.0, 3.0]))
    assert windows.rates.n_resets == 1
    assert np.isfinite(window.scaled).all()


def test_time_must_go_forwards() -> None:
    windows = Windows(("units",), PROGRESS, 0.25)
    windows.push(1.0, np.array([0.0]))
    with pytest.raises(UsageError, match="later"):
        windows.push(1.0, np.array([1.0]))


def test_the_scaler_does_not_cancel_on_large_means() -> None:
    scaler = RunningScaler(1)
    values = 1e8 + np.random.default_rng(1).standard_normal(500)
    for value in values:
        found = scaler.push(np.array([value]))
    assert found[0] == pytest.approx((values[-1] - values.mean()) / values.std(), rel=1e-5)


def written(path: Path, n_rows: int = 30, seed: int = 0) -> Path:
    t_s, values = stream(n_rows, seed)
    pd.DataFrame({"t_s": t_s, **dict(zip(COLUMNS, values.T, strict=True)), "phase": "a"}).to_csv(path, index=False)
    return path


def test_the_table_has_a_row_a_sample_and_a_source_a_column(tmp_path: Path) -> None:
    table = dwc_o([written(tmp_path / "one.csv"), written(tmp_path / "two.csv", 20, 1)])
    assert table.kind == "dwc-o"
    assert len(table.frame) == 29 + 19
    assert table.frame["kernel"].iloc[0] == "one:000001"
    assert table.frame["kernel"].is_unique
    assert [column.name for column in table.columns] == list(table.frame.columns[1:])
    assert not any("phase" in column.name for column in table.columns)
    assert np.isfinite(table.frame.drop(columns="kernel").to_numpy()).all()


def test_targets_are_the_performance_a_horizon_later(tmp_path: Path) -> None:
    path = written(tmp_path / "one.csv")
    table, targets = dwc_o([path]).frame, future_targets([path], 1.0)
    assert len(targets) == len(table) - 4
    assert (targets["kernel"] == table["kernel"][: len(targets)]).all()
    np.testing.assert_allclose(targets["performance_ahead"], table["performance_now"][4:])
    np.testing.assert_allclose(targets["time_s"] * targets["performance_ahead"], 1.0)


def test_streams_of_other_columns_do_not_share_a_table(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    pd.read_csv(written(tmp_path / "one.csv")).drop(columns="load1").to_csv(other, index=False)
    with pytest.raises(DataError, match="other columns"):
        dwc_o([tmp_path / "one.csv", other])


def test_a_stream_without_a_witness_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    pd.read_csv(written(path)).drop(columns="units").to_csv(path, index=False)
    with pytest.raises(DataError, match="how fast"):
        dwc_o([path])
    assert len(dwc_o([path], performance="ctxt").frame) == 29
    with pytest.raises(DataError, match="no column 'units'"):
        dwc_o([path], performance="progress")


def test_a_table_of_rates_is_read_as_rates(tmp_path: Path) -> None:
    raw = pd.read_csv(written(tmp_path / "raw.csv"))
    rates = raw.iloc[1:].copy()
    for name in ("units", "ctxt"):
        rates[name] = np.diff(raw[name]) / np.diff(raw["t_s"])
    rates["dt_s"] = np.diff(raw["t_s"])
    rates.to_csv(tmp_path / "rates.csv", index=False)
    one, two = dwc_o([tmp_path / "raw.csv"]).frame, dwc_o([tmp_path / "rates.csv"]).frame
    np.testing.assert_allclose(one.drop(columns="kernel"), two.drop(columns="kernel"), rtol=1e-9, atol=1e-9)


def test_a_stream_too_short_or_without_performance_is_told_in_seconds_and_names(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("t_s,units\n0,0\n1,5\n2,9\n", encoding="ascii")
    with pytest.raises(DataError, match=r"got 2 s of samples, expected more than the horizon of 100 s(.|\n)*--horizon"):
        future_targets([path], horizon_s=100.0)
    path.write_text("t_s,level\n0,0\n1,5\n2,9\n", encoding="ascii")
    with pytest.raises(DataError, match=r"got columns level(.|\n)*Such as units, instructions, cpu_ns, io_bytes"):
        future_targets([path], horizon_s=1.0)
