"""Any numeric cell replaced by something that is no measurement, any header's unit changed: the error names the place."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import TABLES, read_campaign, read_table

Edit = Callable[..., Path]

REPLACEMENTS = {"text": "fast", "nothing": "", "nan": "nan", "inf": "inf", "negative": "-0.5", "overflow": "1e999"}
OTHER_UNITS = {"s": ("_ms", "_us", "_min", "_sec", ""), "bytes": ("_mb", "_kib", "")}


def numeric_columns() -> Iterator[tuple[str, str]]:
    for schema in TABLES.values():
        for column in schema.columns:
            if column.is_numeric:
                yield schema.name, column.name


def filled_lines(text: str, column: str) -> list[tuple[int, str]]:
    rows = list(csv.reader(io.StringIO(text)))
    index = rows[0].index(column)
    return [(line, row[index]) for line, row in enumerate(rows[1:], start=2) if row[index]]


@pytest.mark.parametrize("replacement", REPLACEMENTS)
@pytest.mark.parametrize(("table", "column"), list(numeric_columns()))
def test_replaced_cell_is_named(table: str, column: str, replacement: str, edited: Edit, small_texts: dict[str, str]) -> None:
    text = REPLACEMENTS[replacement]
    line, _ = filled_lines(small_texts[table], column)[-1]
    folder = edited(table, line, column, text)
    with pytest.raises(DataError) as caught:
        read_campaign(folder)
    assert caught.value.place == f"{folder / TABLES[table].stem}.csv, line {line}, column {column}"
    assert (repr(text) if text else "an empty cell") in caught.value.message
    assert "expected" in caught.value.message
    assert caught.value.hint


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "-1", "x", "nan"])
@pytest.mark.parametrize("table", ["kernels", "updates"])
def test_every_single_cell(table: str, text: str, edited: Edit, small_texts: dict[str, str]) -> None:
    """Not only in the last row: kernels and operations differ in which cells say something."""
    for column in (column.name for column in TABLES[table].columns if column.is_numeric):
        for line, _ in filled_lines(small_texts[table], column)[:40]:
            folder = edited(table, line, column, text)
            with pytest.raises(DataError) as caught:
                read_table(folder / f"{TABLES[table].stem}.csv", table)
            assert caught.value.place == f"{folder / TABLES[table].stem}.csv, line {line}, column {column}"


@pytest.mark.parametrize(("table", "column"), list(numeric_columns()))
def test_changed_unit_is_named(table: str, column: str, edited: Edit) -> None:
    described = TABLES[table][column]
    suffixes = OTHER_UNITS.get(described.unit, ("_x",))
    for suffix in suffixes:
        name = described.stem + suffix
        folder = edited(table, 1, column, name)
        with pytest.raises(DataError) as caught:
            read_campaign(folder)
        assert caught.value.place == f"{folder / TABLES[table].stem}.csv, line 1, column {name}"
        assert repr(name) in caught.value.message
        if described.unit in OTHER_UNITS:
            assert repr(column) in caught.value.message
            assert "unit" in str(caught.value.hint) or "multiply" in str(caught.value.hint)


@pytest.mark.parametrize("table", list(TABLES))
def test_missing_column_is_named(table: str, tmp_path: Path, small_texts: dict[str, str]) -> None:
    rows = list(csv.reader(io.StringIO(small_texts[table])))
    for index, name in enumerate(rows[0]):
        if name in TABLES[table].optional:
            continue
        path = tmp_path / f"{table}.csv"
        path.write_text("".join(",".join(row[:index] + row[index + 1 :]) + "\n" for row in rows), encoding="utf-8")
        with pytest.raises(DataError, match=f"line 1, column {name}: is missing") as caught:
            read_table(path, table)
        assert caught.value.hint


def without(text: str, names: Collection[str]) -> str:
    """The text of a table without the columns of these names."""
    rows = list(csv.reader(io.StringIO(text)))
    kept = [index for index, name in enumerate(rows[0]) if name not in names]
    return "".join(",".join(row[index] for index in kept) + "\n" for row in rows)


SAMPLED = ["sgemm", "kernels", "steps", "updates"]


@pytest.mark.parametrize("table", SAMPLED)
def test_what_a_file_may_leave_out_is_filled(table: str, tmp_path: Path, small_texts: dict[str, str]) -> None:
    """The order of the rows is that of measuring, all are one round; what nobody looked at is unknown, not zero."""
    path = tmp_path / f"{table}.csv"
    path.write_text(without(small_texts[table], TABLES[table].optional), encoding="utf-8")
    found = read_table(path, table)
    assert tuple(found) == TABLES[table].names
    assert found["sequence"].tolist() == list(range(len(found)))
    assert found["round"].dtype.kind == "i"
    assert (found[["round", "reference_s"]] == 0).all(axis=None)
    assert found[["wall_s", "load"]].isna().all(axis=None)


def test_a_whole_campaign_may_leave_them_out(campaign: Path, small_texts: dict[str, str]) -> None:
    full = read_campaign(campaign)
    for table in SAMPLED:
        path = campaign / f"{table}.csv"
        path.write_text(without(small_texts[table], TABLES[table].optional), encoding="utf-8")
    found = read_campaign(campaign)
    for table in SAMPLED:
        measured = list(TABLES[table].required)
        assert found.tables[table][measured].equals(full.tables[table][measured])


def test_equal_rows_are_copies_in_a_file_without_rounds_too(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("backend,cnn,subbatch_size,step_s,cpu_s\n" + 2 * "mine,a,1,0.5,0.5\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 3.*line 2"):
        read_table(path, "steps")
    assert read_table(path, "steps", duplicates="keep")["sequence"].tolist() == [0, 1]
    assert read_table(path, "steps", duplicates="drop")["sequence"].tolist() == [0]


ZERO_FORBIDDEN = [
    ("sgemm", "cpu_s"),
    ("sgemm", "m"),
    ("kernels", "cpu_s"),
    ("kernels", "wall_s"),
    ("steps", "step_s"),
    ("steps", "subbatch_size"),
    ("updates", "cpu_s"),
    ("components", "fetch_weights_s"),
    ("components", "compute_gradient_s"),
    ("components", "sum_gradient_s"),
    ("runs", "epoch_s"),
    ("runs", "gpu_iteration_s"),
    ("runs", "mean_minibatch_size"),
]


@pytest.mark.parametrize(("table", "column"), ZERO_FORBIDDEN)
def test_zero_in_a_target_is_an_error(table: str, column: str, edited: Edit, small_texts: dict[str, str]) -> None:
    line, _ = filled_lines(small_texts[table], column)[0]
    folder = edited(table, line, column, "0")
    with pytest.raises(DataError) as caught:
        read_campaign(folder)
    assert caught.value.place == f"{folder / TABLES[table].stem}.csv, line {line}, column {column}"
    assert "'0'" in caught.value.message


@pytest.mark.parametrize("column", ["lock_weights_gpu_s", "lock_gradient_gpu_s", "lock_gradient_update_s", "lock_weights_update_s"])
def test_zero_lock_wait_is_right(column: str, edited: Edit) -> None:
    frame = read_campaign(edited("components", 2, column, "0")).table("components")
    assert frame[column][0] == 0


def test_zero_allreduce_is_right_on_one_node_only(edited: Edit) -> None:
    assert read_campaign(edited("components", 3, "allreduce_s", "0")).table("components")["allreduce_s"][1] == 0
    with pytest.raises(DataError, match="line 2, column allreduce_s"):
        read_campaign(edited("components", 2, "allreduce_s", "0"))


def test_zero_time_is_right_for_a_kernel_that_the_layer_does_not_run(edited: Edit, small_texts: dict[str, str]) -> None:
    folder = edited("kernels", 2, "layer", "conv1")
    absent = "numpy,tiny,1,pool,conv2,0,0,0,,0,0,0,1,999,0.4,0.0021\n"
    (folder / "kernels.csv").write_text(small_texts["kernels"] + absent, encoding="utf-8")
    frame = read_campaign(folder).table("kernels")
    assert frame["cpu_s"].iloc[-1] == 0
    (folder / "kernels.csv").write_text(
        small_texts["kernels"] + absent.replace(",0,0,0,,0,0,0,", ",0,0,0,,0,0.1,0.1,"), encoding="utf-8"
    )
    with pytest.raises(DataError, match="column kernel: got 'pool', expected a kernel that tiny runs on layer conv2"):
        read_campaign(folder)


@pytest.mark.parametrize(
    ("kernel", "column", "text", "words"),
    [
        ("im2col", "m", "12", "expected 0 \\(a memory kernel\\)"),
        ("im2col", "trans", "NN", "expected an empty cell \\(a memory kernel\\)"),
        ("im2col", "access_bytes", "", "got an empty cell, expected bytes"),
        ("convolution", "trans", "", "got an empty cell, expected one of NN, TN, NT"),
        ("convolution", "trans", "NX", "got 'NX', expected one of NN, TN, NT"),
        ("convolution", "access_bytes", "64", "expected an empty cell \\(a matrix product\\)"),
        ("convolution", "m", "12.5", "expected an integer"),
        ("convolution", "kernel", "convolutoin", "Did you mean 'convolution'"),
        ("convolution", "cnn", "", "got an empty cell, expected a name"),
    ],
)
def test_cells_that_go_with_other_rows(
    kernel: str, column: str, text: str, words: str, edited: Edit, small_texts: dict[str, str]
) -> None:
    line = next(line for line, name in filled_lines(small_texts["kernels"], "kernel") if name == kernel)
    folder = edited("kernels", line, column, text)
    with pytest.raises(DataError, match=words) as caught:
        read_campaign(folder)
    assert f"line {line}, column {column}" in str(caught.value)


@pytest.mark.parametrize(("column", "text"), [("n_params", "5"), ("subbatch_size", "0"), ("input_size", "0")])
def test_image_operations_have_sizes_of_their_own(column: str, text: str, edited: Edit) -> None:
    with pytest.raises(DataError, match=f"line 3, column {column}: got '{text}'"):
        read_campaign(edited("updates", 3, column, text))


def test_topmost_fault_is_reported(edited: Edit) -> None:
    folder = edited("steps", 3, "cpu_s", "-1")
    text = (folder / "steps.csv").read_text(encoding="utf-8").splitlines()
    text[1] = text[1].replace("0.0021", "-3")
    (folder / "steps.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2, column reference_s"):
        read_campaign(folder)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1;5", "slipped"),
        ("0.5 ms", "bare number"),
        ("-0.013", "cannot be negative"),
        ("nan", "NaN and infinities"),
        ("", "only where the data dictionary says so"),
        ("0", "never exactly zero"),
    ],
)
def test_hint_fits_the_fault(text: str, hint: str, edited: Edit) -> None:
    with pytest.raises(DataError) as caught:
        read_campaign(edited("steps", 2, "cpu_s", text))
    assert hint in str(caught.value.hint)
