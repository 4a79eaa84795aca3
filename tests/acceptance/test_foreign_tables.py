"""Tables as other programs write them: each is read to the same numbers, or refused in one message with place, value and remedy."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from mlperf.core.errors import MlperfError
from mlperf.datasets import read_any_table

TABLE = pd.DataFrame(
    {
        "m": [8, 16, 32, 64],
        "size": [0.5, 1.25, 2.0, 1e-3],
        "gpu": ["A100", "V100", "A100", "T4"],
        "time_s": [0.0354656673526035, 0.25, 1.5, 2.0],
    }
)
UNICODE = TABLE.rename(columns={"size": "Größe [KiB]", "time_s": "Zeit (µs)", "gpu": "gpu name"})


def written(frame: pd.DataFrame = TABLE, encoding: str = "utf-8", **options: Any) -> bytes:
    """What pandas writes; the reader shares no code with it."""
    return frame.to_csv(**{"index": False, "lineterminator": "\n", **options}).encode(encoding)


def by_the_csv_module(frame: pd.DataFrame, **options: Any) -> bytes:
    """What the csv module writes."""
    stream = io.StringIO()
    writer = csv.writer(stream, **options)
    writer.writerows([list(frame.columns), *frame.astype(object).to_numpy().tolist()])
    return stream.getvalue().encode()


def write(path: Path, content: bytes) -> Path:
    """A file that was finished long ago, for which the reader need not wait."""
    path.write_bytes(content)
    os.utime(path, (0, 0))
    return path


ALIKE: dict[str, tuple[bytes, pd.DataFrame, str]] = {
    "commas": (written(), TABLE, ""),
    "semicolons": (written(sep=";"), TABLE, "read with semicolons between the cells"),
    "tabs": (written(sep="\t"), TABLE, "read with tabs"),
    "bars": (written(sep="|"), TABLE, "read with bars"),
    "semicolons and decimal commas": (written(sep=";", decimal=","), TABLE, "semicolons between the cells and decimal commas"),
    "tabs and decimal commas": (written(sep="\t", decimal=","), TABLE, "tabs between the cells and decimal commas"),
    "byte order mark": (written(encoding="utf-8-sig"), TABLE, ""),
    "Windows line ends": (written(lineterminator="\r\n"), TABLE, ""),
    "old Mac line ends": (written(lineterminator="\r"), TABLE, ""),
    "no line end at the end": (written().rstrip(b"\n"), TABLE, ""),
    "UTF-16": (written(UNICODE, "utf-16"), UNICODE, ""),
    "UTF-16 with tabs, as spreadsheets write 'Unicode text'": (written(UNICODE, "utf-16", sep="\t", decimal=","), UNICODE, "tabs"),
    "UTF-32": (written(UNICODE, "utf-32"), UNICODE, ""),
    "Windows-1252": (written(UNICODE, "cp1252"), UNICODE, "line 1: read as Windows-1252 (Latin-1), for example 'Größe'"),
    "names with units, blanks and Unicode": (written(UNICODE), UNICODE, ""),
    "index of pandas": (written(index=True), TABLE, "column Unnamed: 0: left out, it has no name and counts the rows"),
    "row names of R": (
        by_the_csv_module(TABLE.set_axis(range(1, 5)).reset_index(names=""), quoting=csv.QUOTE_NONNUMERIC),
        TABLE,
        "counts the rows",
    ),
    "index written twice": (written(TABLE.reset_index(names="Unnamed: 0")), TABLE, "counts the rows"),
    "every cell quoted": (by_the_csv_module(TABLE, quoting=csv.QUOTE_ALL), TABLE, ""),
    "blanks around cells": (written().replace(b",", b" , "), TABLE, ""),
    "exponents": (written(float_format="%.16E"), TABLE, ""),
    "separator at the end of every line": (
        written().replace(b"\n", b",\n"),
        TABLE,
        "column Unnamed: 4: left out, it has neither a",
    ),
    "separators and line ends in cells": (
        by_the_csv_module(TABLE.assign(gpu=["a, b", 'c "d"', "e;f", "g\nh"])),
        TABLE.assign(gpu=["a, b", 'c "d"', "e;f", "g\nh"]),
        "",
    ),
    "one row": (written(TABLE[:1]), TABLE[:1], ""),
    "three rows": (written(TABLE[:3]), TABLE[:3], ""),
    "200 columns": (
        written(TABLE.join(pd.DataFrame({f"x{i}": [i, i + 0.5, 2 * i, 7] for i in range(196)}))),
        TABLE.join(pd.DataFrame({f"x{i}": [i, i + 0.5, 2 * i, 7] for i in range(196)})),
        "",
    ),
    "constant and collinear columns": (
        written(TABLE.assign(one=1, twice=2 * TABLE["m"])),
        TABLE.assign(one=1, twice=2 * TABLE["m"]),
        "",
    ),
    "booleans": (written(TABLE.assign(fused=[True, False] * 2)), TABLE.assign(fused=["True", "False"] * 2), ""),
    "column of dates": (
        written(TABLE.assign(day=pd.date_range("2024-01-30", periods=4))),
        TABLE,
        "column day: left out, it holds dates or times of day ('2024-01-30')",
    ),
    "empty cells in a column nobody named": (
        written(TABLE.assign(note=[1, None, 3, None])),
        TABLE,
        "column note: left out, it has no value in 2 of 4 rows (lines 3, 5; to leave out these rows instead: na='drop', --na drop)",
    ),
    "empty column": (written(TABLE.assign(note=None)), TABLE, "column note: left out, it has no values"),
    "units in every cell": (
        written(TABLE.assign(memory=["16GB", "32GB", "16GB", "8GB"])),
        TABLE.assign(memory=["16GB", "32GB", "16GB", "8GB"]),
        "column memory: holds numbers with units ('16GB'), read as labels: remove the units to use the numbers",
    ),
}


@pytest.mark.parametrize("case", ALIKE)
def test_the_same_table_is_read(case: str, tmp_path: Path) -> None:
    content, expected, note = ALIKE[case]
    path = write(tmp_path / "times.csv", content)
    frame = read_any_table(path, str(expected.columns[3]), others="aside")
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False, rtol=1e-15)
    assert (note in " ".join(frame.attrs["notes"])) if note else frame.attrs["notes"] == ()
    assert all(str(one).startswith(str(path)) for one in frame.attrs["notes"])


@dataclass(frozen=True)
class Told:
    """A file that is read as the user asks for."""

    content: str
    options: dict[str, Any]
    expected: dict[str, list[Any]]
    note: str = ""
    target: str = "time_s"


TOLD = {
    "rows with an empty cell dropped": Told(
        "m,n,time_s\n8,,1\n16,2,2\n32,3,\n64,4,NA\n",
        {"na": "drop"},
        {"m": [16], "n": [2], "time_s": [2]},
        "left out 3 of 4 rows with a missing cell (line 2 in column n; lines 4, 5 in column time_s)",
    ),
    "rows dropped, but for a column that is mostly empty": Told(
        "m,note,time_s\n8,,1\n16,,2\n32,x,\n",
        {"na": "drop"},
        {"m": [8, 16], "time_s": [1, 2]},
        "column note: left out, it has no value in 2 of 3 rows (lines 2, 3)",
    ),
    "labels that are numbers": Told(
        "version,time_s\n4.0,1\n12.10,2\n", {"categorical": ["version"]}, {"version": ["4.0", "12.10"], "time_s": [1, 2]}
    ),
    "labels with decimal commas": Told(
        "kernel;time_s\n3,3;0.5\n5,5;0.7\n",
        {"categorical": ["kernel"]},
        {"kernel": ["3,3", "5,5"], "time_s": [0.5, 0.7]},
        "semicolons",
    ),
    "dates that somebody names": Told(
        "day,time_s\n31.01.2024,1\n01.02.2024,2\n",
        {"columns": ["day"]},
        {"day": ["31.01.2024", "01.02.2024"], "time_s": [1, 2]},
        "dates",
    ),
    "copies dropped": Told(
        "m,time_s\n1,0.5\n2,0.7\n1,0.5\n",
        {"duplicates": "drop"},
        {"m": [1, 2], "time_s": [0.5, 0.7]},
        "left out copies of earlier rows: 1 of 3 rows",
    ),
    "negative response": Told("m,gain\n1,-0.5\n2,0\n", {"positive": False}, {"m": [1, 2], "gain": [-0.5, 0]}, target="gain"),
    "columns to pass on": Told(
        "id,m,time_s\nrun 1,1,0.5\n2,2,0.7\n,3,1\n",
        {"columns": ["m"], "others": "keep"},
        {"id": ["run 1", "2", ""], "m": [1, 2, 3], "time_s": [0.5, 0.7, 1]},
    ),
    "faults in a column that is not used": Told(
        "m,junk,time_s\n1,OOM,0.5\n2,7,0.7\n", {"columns": ["m"], "others": "leave"}, {"m": [1, 2], "time_s": [0.5, 0.7]}
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_the_reader_does_as_it_is_told(case: str, tmp_path: Path) -> None:
    told = TOLD[case]
    path = write(tmp_path / "times.csv", told.content.encode())
    frame = read_any_table(path, told.target, **{"others": "aside", **told.options})
    assert frame.to_dict("list") == told.expected
    assert told.note in " ".join(frame.attrs["notes"]) if told.note else frame.attrs["notes"] == ()


@dataclass(frozen=True)
class Refused:
    """A file that is refused: where, what was found, what to do."""

    content: bytes
    place: str
    message: str
    hint: str
    options: dict[str, Any] = field(default_factory=dict)
    name: str = "times.csv"


REFUSED = {
    "two marks that may separate": Refused(
        b"m,n;time_s\n1,2;0\n2,3;1\n", "line 1", "separated by commas ('m', 'n;time_s') or semicolons ('m,n', 'time_s')", '"a,b";c'
    ),
    "Cyrillic in a code page": Refused(
        "m,размер,time_s\n1,2,3\n".encode("cp1251"), "line 1", "neither UTF-8 nor Windows-1252 behind 'm,'", "as UTF-8"
    ),
    "Japanese in a code page": Refused("m,n,time_s\n1,時間,3\n".encode("shift-jis"), "line 2", "behind '1,'", "as UTF-8"),
    "UTF-16 without a mark": Refused(written(encoding="utf-16-le"), "line 1", "without a byte order mark", "'CSV UTF-8'"),
    "half of a UTF-16 character": Refused(written(encoding="utf-16")[:-1], "line 5", "is no whole UTF-16-LE text", "cut off"),
    "Excel workbook": Refused(b"PK\x03\x04...", "", "a zip archive or an Excel workbook", "Save the sheet"),
    "gzip without its suffix": Refused(gzip.compress(written()), "", "got gzip data", ".csv.gz"),
    "thousands in quotes": Refused(
        b'm,time_s\n"8,000",1\n"16,000",2\n',
        "line 2, column m",
        "got '8,000', expected a number",
        "remove the comma in the whole column: 8000",
    ),
    "thousands beside plain numbers": Refused(
        b'm,time_s\n512,1\n"1,024",2\n640,3\n', "line 3, column m", "got '1,024', expected a number", "remove the comma"
    ),
    "thousands apart by blanks": Refused(
        "m,time_s\n1 000,1\n16\u202f000,2\n".encode(), "line 2, column m", "got '1 000', expected a number", "Remove the separators"
    ),
    "thousands between semicolons": Refused(
        b"m;time_s\n8,000;1\n16,000;2\n",
        "line 2, column m",
        "expected a number that is not both 8000 and 8.000",
        "remove the comma",
    ),
    "points between thousands": Refused(
        b"m;time_s\n512;1\n1.024;2\n", "line 3, column m", "expected a number that is not both 1024 and 1.024", "remove the point"
    ),
    "points between thousands beside decimal commas": Refused(
        b"m;time_s\n512;0,5\n1.024;2\n",
        "line 3, column m",
        "a decimal comma, as '0,5' in column time_s (line 2)",
        "without marks between",
    ),
    "two decimal marks": Refused(
        b"m;time_s\n0,5;0.5\n1,5;0.7\n",
        "line 2, column time_s",
        "a decimal comma, as '0,5' in column m (line 2)",
        "one decimal mark",
    ),
    "decimal commas in quotes": Refused(
        b'm,time_s\n1,"0,25"\n2,"0,5"\n', "line 2, column time_s", "got '0,25', expected a number", "Write a decimal point"
    ),
    "decimal commas between commas": Refused(
        b"m,time_s\n1,0,25\n2,0,5\n", "line 2, column number 3", "got 3 cells, expected 2", "decimal commas need semicolons or tabs"
    ),
    "row that is too long": Refused(
        b"m;time_s\n1;2\n2;3;4\n", "line 3, column number 3", "'4' belongs to no column", "look for a semicolon too many"
    ),
    "row that is cut off": Refused(b"m,n,time_s\n1,2,3\n2,3", "line 3, column time_s", "the row ends after '3'", "cut off"),
    "sentence above the table": Refused(
        b"# measured today\nm,time_s\n1,2\n", "line 2, column number 2", "got 2 cells, expected 1", "remove what stands above"
    ),
    "Excel's line for the separator": Refused(
        b"sep=;\nm;time_s\n1;2\n", "line 1", "got 'sep=', expected column names", "remove what stands"
    ),
    "blanks between cells": Refused(b"m time_s\n1 2\n", "line 1, column time_s", "is missing: got m time_s", "not by blanks"),
    "header without rows": Refused(b"m,time_s\n", "line 2", "got a header and no rows", "teaches nothing"),
    "empty file": Refused(b"", "line 1", "got an empty file", "mlperf data template"),
    "name given twice": Refused(b"m,m ,time_s\n1,2,3\n", "line 1, column m", "got 'm' twice", "Rename"),
    "column without a name": Refused(b",m,time_s\n5,1,2\n9,2,3\n", "line 1, column 1", "got an empty column name", "index=False"),
    "name with a backquote": Refused(b"m`,time_s\n1,2\n", "line 1, column m`", "without backquotes", "Rename"),
    "infinity": Refused(
        b"m,time_s\n1,inf\n2,3\n", "line 2, column time_s", "got 'inf', expected a number", "measure the row again"
    ),
    "word in the target": Refused(b"m,time_s\n1,2\n2,OOM\n", "line 3, column time_s", "got 'OOM', expected a number", "--na drop"),
    "word in a feature": Refused(
        b"m,time_s\n1,2\n2,3\nOOM,4\n", "line 4, column m", "got 'OOM', expected a number", "--categorical m"
    ),
    "word in a feature whose name a shell would split": Refused(
        b"size (B),time_s\n1,2\n2,3\nbig,4\n", "line 4, column size (B)", "got 'big'", "--categorical 'size (B)'"
    ),
    "another unit in a cell of the target": Refused(
        b"m,time_s\n1,2\n2,100 ms\n", "line 3, column time_s", "got '100 ms', expected a number in s", "write 0.1 for '100 ms'"
    ),
    "target of labels": Refused(
        b"m,time_s\n1,fast\n2,slow\n", "line 2, column time_s", "the target is what", "Choose a column of numbers"
    ),
    "empty cell in the target": Refused(b"m,time_s\n1,2\n2,\n", "line 3, column time_s", "got an empty cell", "--na drop"),
    "empty cell in a column that is used": Refused(
        b"m,time_s\n1,2\n,3\n", "line 3, column m", "got an empty cell", "--na drop", {"columns": ["m"]}
    ),
    "nothing left": Refused(
        b"m,time_s\n1,\n,3\n", "line 2, column time_s", "2 rows, each with a missing cell", "columns=", {"na": "drop"}
    ),
    "copied row": Refused(b"m,time_s\n1,2\n1,2\n", "line 3, column m", "a row that differs from line 2", "--duplicates"),
    "target that is not there": Refused(b"m,time_S\n1,2\n", "line 1, column time_s", "is missing", "Did you mean 'time_S'?"),
    "time below zero": Refused(
        b"m,time_s\n1,-2\n", "line 2, column time_s", "got '-2', expected a number > 0", "A time cannot be negative"
    ),
    "another file called Parquet": Refused(written(), "", "is no Parquet file", ".csv", name="times.parquet"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_one_message_says_where_what_and_what_to_do(case: str, tmp_path: Path) -> None:
    refused = REFUSED[case]
    path = write(tmp_path / refused.name, refused.content)
    with pytest.raises(MlperfError) as caught:
        read_any_table(path, "time_s", **{"others": "aside", **refused.options})
    assert caught.value.place == ", ".join(part for part in (str(path), refused.place) if part)
    assert refused.message in caught.value.message
    assert refused.hint in str(caught.value.hint)
    assert str(caught.value).replace("\n", "").isprintable()
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_standard_input_is_a_table(pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(pack(written(sep=";", decimal=",")))))
    pd.testing.assert_frame_equal(read_any_table("-", "time_s"), TABLE, check_dtype=False)


def test_faults_of_the_standard_input_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"m,time_s\n1,2\n2,x\n")))
    with pytest.raises(MlperfError, match="<stdin>, line 3, column time_s: got 'x'"):
        read_any_table(Path("-"), "time_s")
    with pytest.raises(MlperfError, match="<stdin>, line 1: got an empty file"):
        read_any_table(Path("-"), "time_s")


def test_gzip_is_read_by_its_name(tmp_path: Path) -> None:
    path = write(tmp_path / "times.tsv.gz", gzip.compress(written(sep="\t")))
    pd.testing.assert_frame_equal(read_any_table(path, "time_s"), TABLE, check_dtype=False)
