"""Columns that are set aside, each for its reason; honest ones stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.datasets.joining.join import JoinedTable
from mlperf.training.table.columns import check_magnitudes, columns_beside, correlation_beside, explaining_columns, telling_columns
from mlperf.training.table.verdict import verdict


def table(n_rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    m, n = 2.0 ** rng.integers(3, 10, (2, n_rows))
    times = (1e-5 + 1e-9 * m * n) * np.exp(0.05 * rng.standard_normal(n_rows))
    return pd.DataFrame({"m": m, "n": n, "time_s": times})


def aside(frame: pd.DataFrame, **options: str) -> dict[str, str]:
    return {item.name: item.reason for item in explaining_columns(frame, "time_s", **options)[1]}


def test_sizes_stay() -> None:
    kept, gone = explaining_columns(table(), "time_s")
    assert kept == ("m", "n")
    assert gone == ()


def test_the_target_in_disguise_goes() -> None:
    frame = table()
    rng = np.random.default_rng(1)
    frame = frame.assign(
        time_min_ms=frame.time_s * 990.0 * (1 - 0.02 * rng.random(60)),
        teraflops=2e-12 * frame.m * frame.n / frame.time_s,
        ticks=frame.time_s * 2.4e9,
    )
    found = aside(frame)
    assert set(found) == {"time_min_ms", "teraflops", "ticks"}
    assert "measured time" in found["time_min_ms"]
    assert "rate" in found["teraflops"]
    assert "another unit" in found["ticks"]


def test_a_setting_with_the_name_of_a_rate_stays() -> None:
    rng = np.random.default_rng(2)
    frame = table().assign(learning_rate=10.0 ** rng.uniform(-4, -1, 60), bandwidth_gb=rng.choice([300.0, 900.0], 60))
    assert set(explaining_columns(frame, "time_s")[0]) >= {"learning_rate", "bandwidth_gb"}


def test_a_size_that_makes_the_time_alone_is_no_disguise() -> None:
    size = np.arange(10.0, 70.0)
    frame = pd.DataFrame({"size": size, "time_s": 1e-6 * size})
    assert explaining_columns(frame, "time_s")[0] == ("size",)


def test_identifiers_constants_dates_and_copies_go() -> None:
    frame = table().assign(
        row=range(60),
        number=range(1, 61),
        name=[f"run-{i}" for i in range(60)],
        day=pd.date_range("2024-01-01", periods=60),
        host="here",
        gap=[np.nan] + [1.0, 2.0] * 29 + [1.0],
        kilo=lambda rows: rows.m / 1024.0,
        gpu=["A", "B"] * 30,
        device=["x", "y", "z"] * 20,
    )
    found = aside(frame, groups="device")
    assert set(found) == {"row", "number", "name", "day", "host", "kilo", "gap"}
    assert found["kilo"] == "repeats m"
    assert found["host"] == "is here in every row"
    assert explaining_columns(frame, "time_s", "device")[0] == ("m", "n", "gpu")


def test_correlation_beside_others_is_that_of_the_residuals() -> None:
    """Against the textbook formula from the three pairwise correlations."""
    rng = np.random.default_rng(3)
    third = rng.standard_normal(500)
    one, other = third + rng.standard_normal(500), 2.0 * third + rng.standard_normal(500)
    r = np.corrcoef([one, other, third])
    expected = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    np.testing.assert_allclose(correlation_beside(one, other, [third]), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("column", "value"),
    [("m", 1e308), ("m", -1e31), ("m", 1e-320), ("time_s", 1e31), ("time_s", 1e-31)],
)
def test_numbers_with_whose_squares_nobody_can_count_are_refused(column: str, value: float) -> None:
    """Such a cell ends in an overflow, a singular matrix or hundreds of warnings, by the method that meets it first."""
    rows = pd.DataFrame({"m": np.arange(1.0, 41.0), "n": np.tile([2.0, 3.0, 5.0, 8.0], 10)})
    rows["time_s"] = 1e-6 * rows["m"] * rows["n"]
    rows.loc[3, column] = value
    asked: tuple[dict[str, Any], ...] = ({}, {"method": "ols", "terms": ["m*n"]}, {"noise": "absolute", "terms": ["m", "n"]})
    for options in asked:
        with pytest.raises(DataError, match=rf"table, column {column}: got .* in row 4, expected numbers between") as caught:
            mlperf.train(rows, target="time_s", **options)
        assert "another unit" in str(caught.value.hint)


def test_the_smallest_and_largest_units_are_taken() -> None:
    check_magnitudes(
        pd.DataFrame({"flop": [0.0, 1e30, -1e-90], "time": [1e-30, 1e3, 0.0], "gpu": ["a", "b", "c"]}), "time", "table"
    )


def test_repeats_are_equal_in_what_cannot_be_read_but_not_in_names_of_rows() -> None:
    frame = table().assign(
        flops=[f"{10 + i}.5G" for i in range(60)],
        shape=[f"{i % 50}a" for i in range(60)],
        kernel=[f"64x{64 + i}" for i in range(60)],
        batch=[None, *([8.0, 16.0] * 30)][:60],
        note=[None, *(["x", "y"] * 30)][:60],
        wall_ms=lambda rows: [np.nan, *(1e3 * rows.time_s)[1:]],
        gflops=lambda rows: 1e-9 * rows.m * rows.n / rows.time_s,
        name=[f"run-{i}" for i in range(60)],
        run_id=range(1000, 1060),
        day=pd.date_range("2024-01-01", periods=60),
        host="here",
    )
    kept = explaining_columns(frame, "time_s")[0]
    assert kept == ("m", "n")
    assert telling_columns(frame, "time_s", kept) == ("m", "n", "flops", "shape", "kernel", "batch", "note")


def test_sizes_with_suffixes_are_told_with_the_remedy() -> None:
    frame = table().assign(flops=[f"{10 + i}.5G" for i in range(60)])
    assert aside(frame)["flops"] == "holds numbers with units ('10.5G') and is not used: write 10.5e9 for '10.5G'"
    model = mlperf.train(frame, target="time_s", method="ols")
    assert verdict(model).startswith("Mind: column flops holds numbers with units ('10.5G') and is not used: write 10.5e9")


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("{}L", "holds numbers in an unusual spelling ('10L') and is not used: write 10 for '10L'"),
        ("0x{}", "holds numbers in an unusual spelling ('0x10') and is not used: write 16 for '0x10'"),
        ("{}x64", "holds several numbers in each cell ('10x64') and is not used: write each number in a column of its own"),
    ],
)
def test_sizes_that_cannot_be_read_are_told_in_the_verdict(cell: str, reason: str) -> None:
    frame = table().assign(flops=[cell.format(10 + i) for i in range(60)])
    assert aside(frame)["flops"] == reason
    assert verdict(mlperf.train(frame, target="time_s", method="ols")).startswith(f"Mind: column flops {reason}.")


def test_columns_beside_feature_tables() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"kernel": list("abcd") * 10, "size": rng.integers(1, 90, 40), "device": ["A", "B"] * 20, "round": 1})
    frame = frame.assign(load=rng.uniform(0.0, 1.0, 40), wall_s=rng.uniform(1.0, 2.0, 40), fma=rng.integers(1, 9, 40))
    frame["time_s"] = rng.uniform(1.0, 2.0, 40)
    joined = [JoinedTable("counts.csv", ("kernel",), ("fma",))]
    assert columns_beside(frame, "time_s", joined, []) == ("size", "device")
    assert columns_beside(frame, "time_s", joined, ["device"]) == ("size",)
    assert columns_beside(frame, "time_s", [], []) == ()
