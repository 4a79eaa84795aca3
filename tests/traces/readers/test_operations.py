"""Tables of operations: what is read, and where wrong cells are named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.readers.operations import read_operations

pytestmark = pytest.mark.slow

HEADER = "step,rank,dp_rank,stage,operation,sequence,micro_batch,start_s,duration_s"
ROWS = ("7,4,0,1,forward-compute,0,0,0.048943521,0.063458980", "7,4,0,1,gc,0,,1.5,0.0")


def written(path: Path, *rows: str, header: str = HEADER) -> Path:
    text = "\n".join((header, *rows)) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_every_column_is_read_in_whole_nanoseconds(name: str, tmp_path: Path) -> None:
    table = read_operations(written(tmp_path / name, *ROWS))
    assert table.start_ns.tolist() == [48_943_521, 1_500_000_000]
    assert table.duration_ns.tolist() == [63_458_980, 0]
    assert (table.names, table.operation.tolist()) == (("forward-compute", "gc"), [0, 1])
    assert table.micro_batch.tolist() == [0, -1]
    assert [column.tolist() for column in (table.step, table.rank, table.sequence)] == [[7, 7], [4, 4], [0, 0]]
    assert table.dp_rank is not None
    assert table.stage is not None
    assert (table.dp_rank.tolist(), table.stage.tolist(), len(table.sha256)) == ([0, 0], [1, 1], 64)


def test_operations_are_counted_by_start_where_nothing_counts_them(tmp_path: Path) -> None:
    rows = (
        "1,0,forward-compute,0.3,0.1",
        "1,0,forward-compute,0.1,0.1",
        "1,1,forward-compute,0.2,0.1",
        "2,0,forward-compute,0,0.1",
    )
    table = read_operations(written(tmp_path / "t.csv", *rows, header="step,rank,operation,start_s,duration_s"))
    assert table.sequence.tolist() == [1, 0, 0, 0]
    assert table.dp_rank is None
    assert "counted by their start" in table.notes[0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("7,4,0,1,gc,0,,1.5,-0.1", "line 3, column duration_s: got '-0.1'"),
        ("7,4,0,1,gc,0,,x,0.1", "line 3, column start_s: got 'x'"),
        ("7,4,0,1,gc,0,,1e12,0.1", "line 3, column start_s: got '1e12', expected seconds of less than 1e+08"),
        ("7,4,0,1,gc,0.5,,1,0.1", "line 3, column sequence: got '0.5', expected a whole number"),
        ("-7,4,0,1,gc,0,,1,0.1", "line 3, column step: got '-7', expected a whole number"),
        ("7,4,0,1,gc,0,,1,", "line 3, column duration_s: got an empty cell"),
        ("7,4,0,1,,0,,1,1", "line 3, column operation: got an empty cell"),
        ("7,4,,1,gc,0,,1,1", "line 3, column dp_rank: got an empty cell"),
    ],
)
def test_wrong_cells_are_named(row: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_operations(written(tmp_path / "t.csv", ROWS[0], row))
    assert message in str(caught.value)


def test_stage_and_dp_rank_come_together(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="column dp_rank: is missing"):
        read_operations(written(tmp_path / "t.csv", "1,0,0,gc,0,0", header="step,rank,stage,operation,start_s,duration_s"))
    with pytest.raises(DataError, match="column duration_s: is missing"):
        read_operations(written(tmp_path / "t.csv", "1,0,gc,0", header="step,rank,operation,start_s"))
