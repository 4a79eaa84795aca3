"""Dates, units and foreign numbers are told from labels that look a little like them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError
from mlperf.datasets.reading.cell_kinds import (
    are_dates,
    are_foreign_numbers,
    clock_remedy,
    have_several,
    have_units,
    spelling_remedy,
    unit_remedy,
)


def column(text: str) -> pd.Series:
    return pd.Series([text, text], dtype="str")


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-31",
        "2024/1/31",
        "20.12.2024",
        "31/12/2024",
        "12/31/2024",
        "31-Dec-2024",
        "1 January 2024",
        "Jan 31, 2024",
        "2024-01-31T12:30:00Z",
        "2024-01-31 12:30:00.123+01:00",
        "31.01.2024 12:30",
        "12:30",
        "9:05:01.5 PM",
    ],
)
def test_dates(text: str) -> None:
    assert are_dates(column(text))


@pytest.mark.parametrize(
    "text", ["11.8.89", "1.2.13", "10.0.0.1", "8/16/32", "2024", "A100", "2024-13-01", "3x3", "1:100", "12-2024", ""]
)
def test_no_dates(text: str) -> None:
    assert not are_dates(column(text))


@pytest.mark.parametrize(
    "text", ["0.1 s", "16GB", "4 KiB", "1.5e-3 ms", "3µs", "12%", "1,5 GHz", "250 W", "3$", "123.4G", "165M", "12k", "1.5T"]
)
def test_units(text: str) -> None:
    assert have_units(column(text))


@pytest.mark.parametrize("text", ["3080Ti", "2D", "3x3", "A100", "s", "fp16", "16"])
def test_no_units(text: str) -> None:
    assert not have_units(column(text))


@pytest.mark.parametrize(
    ("text", "decimal", "is_number"),
    [
        ("8,000", ".", True),
        ("0,25", ".", True),
        ("1,234,567.5", ".", True),
        ("1 234", ".", True),
        ("1\u00a0234,5", ".", True),
        ("1'234", ".", True),
        ("1.234.567", ".", True),
        ("1.234,5", ".", True),
        ("0.25", ",", True),
        ("1.234,5", ",", True),
        ("1,2,3", ".", False),
        ("10.0.0.1", ".", False),
        ("1 2", ".", False),
        ("A,B", ".", False),
        ("1234 567", ".", False),
    ],
)
def test_numbers_as_other_countries_write_them(text: str, decimal: str, is_number: bool) -> None:
    assert are_foreign_numbers(column(text), decimal) == is_number


def test_one_other_text_is_enough_to_be_a_column_of_labels() -> None:
    assert not are_dates(pd.Series(["2024-01-31", "never"], dtype="str"))
    assert not are_dates(pd.Series([], dtype="str"))


@pytest.mark.parametrize(
    ("texts", "remedy"),
    [
        (["123.4G", "1.5G"], "write 123.4e9 for '123.4G'"),
        (["12k", "1.5M"], "write 12e3 for '12k'"),
        (["165 GB", "80 GB"], "write 165 for '165 GB', and the unit in the name: 'mem (GB)'"),
        (["165 MB", "80 GB"], "write 165e6 for '165 MB'"),
        (["64KiB", "2MiB"], "write 64*1024^1, counted out, for '64KiB'"),
        (["3 ms", "2 s"], "write bare numbers in one unit, and the unit in the name: 'mem (ms)'"),
        (["1.5e-3 s", "2 s"], "write 1.5e-3 for '1.5e-3 s', and the unit in the name: 'mem (s)'"),
        (["55%", "7%"], "write 55 for '55%', and the unit in the name: 'mem (%)'"),
    ],
)
def test_the_remedy_is_exact(texts: list[str], remedy: str) -> None:
    assert unit_remedy(texts, "mem") == remedy


def test_a_name_that_has_the_unit_is_left_alone() -> None:
    assert unit_remedy(["165 GB", "80 GB"], "size_gb") == "write 165 for '165 GB'"


@pytest.mark.parametrize(
    ("texts", "written"),
    [
        (["0xfa0", "0x10"], "4000"),
        (["4_000", "1_200_000"], "4000"),
        (["4.000D+03", "1d2"], "4.000e+03"),
        (["−4", "5.5"], "-4"),
        (["3/4", "1/2"], "0.75"),
        (["$4000", "$1.5"], "4000"),
        (["~ 40", "~ 7"], "40"),
        (['="40"', '="7"'], "40"),
        (["np.float64(4.5)", "np.float64(1e-3)"], "4.5"),
        (["tensor(40)", "tensor(7)"], "40"),
        (["[40]", "[7]"], "40"),
        (["40L", "7L"], "40"),
        (["40 samples", "7 samples"], "40"),
        (["40:1", "7:1"], "40"),
    ],
)
def test_numbers_in_an_unusual_spelling_are_told_with_the_usual_one(texts: list[str], written: str) -> None:
    assert spelling_remedy(texts) == f"write {written} for {texts[0]!r}"


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["40", "7"],
        ["layer1", "layer2"],
        ["a_1", "a_2"],
        ["run-1", "run-2"],
        ["17_conv", "18_conv"],
        ["40 samples", "7 rows"],
        ["3a", "4a"],
        ["v1.0", "v2.0"],
        ["RTX 3090", "RTX 4090"],
        ["1/0", "1/2"],
        ["64x128", "32x32"],
    ],
)
def test_names_with_a_number_are_no_numbers(texts: list[str]) -> None:
    assert spelling_remedy(texts) == ""


def test_several_numbers_in_a_cell() -> None:
    for text in ("64x128", "3×3×64", "64*128", "64,128", "1;2", "(64, 128)", "[64,128,3]"):
        assert have_several(column(text))
    for text in ("64", "(64)", "x64", "64x", "2-3", "1.5x2"):
        assert not have_several(column(text))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:12:34", "754"),
        ("100:00:00.25", "360000.25"),
        ("12:34.5", "754.5"),
        ("1-02:03:04", "93784"),
        ("1 days 02:03:04", "93784"),
        ("0 days 00:00:35.500000", "35.5"),
        ("12m34s", "754"),
        ("1h 30min", "5400"),
        ("12:34", "754 for '12:34' where minutes and seconds are meant, 45240 where hours and minutes are"),
    ],
)
def test_durations_are_told_in_seconds(text: str, seconds: str) -> None:
    told = seconds if "for" in seconds else f"{seconds} for {text!r}"
    assert clock_remedy(text) == f"Write durations in seconds, in the whole column: {told}."


def test_dates_are_no_durations_and_other_texts_nothing() -> None:
    for text in ("2024-01-03", "3 Jan 2024", "2024-01-03T00:12:34Z", "2024-01-03 00:12:34", "2:05 PM"):
        assert clock_remedy(text).startswith("A date, or a time of day, is no duration")
    for text in ("", "A100", "16:9:4:3", "0.1 s", "12 ms", "a1b2", "ratio 3:4", "12:75"):
        assert clock_remedy(text) == ""


def test_a_target_in_several_units_is_told_to_have_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n,time\n1,900 us\n2,1.8 ms\n3,2.7 ms\n4,0.0036 s\n", encoding="utf-8")
    with pytest.raises(DataError, match="got '900 us'") as refused:
        mlperf.train(path, target="time")
    assert refused.value.hint == "Write bare numbers in one unit, and the unit in the name: 'time (us)'."
