"""Tables of measured steps: what rows leave out, what a table may not hold, and measurements beside predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mlperf.core.errors import DataError
from mlperf.planning.calibration.observed_rows import ObservedRows, measured_ratios, read_observed
from mlperf.specs import JobSpec, find_cnn, load_machine

JOB = JobSpec(dataset_size=60_000, n_nodes=2, subbatch_size=4)
COLUMNS = {"step_s": "step_s", "compute_s": "compute"}


def read(rows: dict[str, Any], *names: str, **asked: Any) -> ObservedRows:
    nets = [find_cnn(name) for name in names or ("alexnet",)]
    return read_observed(pd.DataFrame(rows), nets, load_machine("cpu-cluster"), JOB, COLUMNS, asked)


def test_what_rows_leave_out_is_the_one_asked_about_or_the_jobs() -> None:
    found = read({"step_s": [1.0, 2.0], "n_nodes": [8, 16]}, n_nodes=(4,), subbatch_size=(32,), n_servers=2.0)
    assert found.configs.to_dict("list") == {
        "cnn": [0, 0],
        "n_nodes": [8, 16],
        "n_gpus_per_node": [2, 2],
        "subbatch_size": [32, 32],
        "dataset_size": [60_000, 60_000],
        "n_servers": [2.0, 2.0],
    }
    assert read({"compute_s": [1.0]}, n_nodes=(1, 2)).configs["n_nodes"].tolist() == [2]
    assert read({"step_s": [1.0], "n_servers": [3]}, n_servers=(1.0, 2.0)).configs["n_servers"].tolist() == [3]


def test_networks_are_told_by_name() -> None:
    found = read({"step_s": [1.0, 2.0, 3.0], "cnn": ["vgg16", "resnet50", "vgg16"]}, "alexnet", "vgg16")
    assert [net.name for net in found.cnns] == ["vgg16", "resnet50"]
    assert found.configs["cnn"].tolist() == [0, 1, 0]
    with pytest.raises(DataError, match="has no column cnn"):
        read({"step_s": [1.0]}, "alexnet", "vgg16")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"n_nodes": [1]}, "got no measured time"),
        ({"step_s": [1.0], "nodes": [1]}, "got column 'nodes'"),
        ({"step_s": [0.0]}, "expected a number > 0"),
        ({"step_s": [1.0], "cnn": ["alexnett"]}, "observed, row 1, column cnn: got 'alexnett'"),
        ({"step_s": [1.0, 2.0], "n_nodes": ["eight", "8"]}, "row 1, column n_nodes: got 'eight', expected a whole number >= 1"),
        ({"step_s": [1.0, 2.0], "n_nodes": [8, 8.5]}, r"row 2, column n_nodes: got 8\.5, expected a whole number >= 1"),
        ({"step_s": [1.0], "subbatch_size": [0]}, "row 1, column subbatch_size: got 0, expected a whole number >= 1"),
        ({"step_s": ["2.6 s"]}, "row 1, column step_s: got '2.6 s'(.|\n)*Write the bare number"),
    ],
)
def test_tables_that_say_something_else_are_refused(rows: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(rows)


def test_a_setting_of_several_values_is_named_in_the_rows() -> None:
    with pytest.raises(DataError, match="has no column n_servers, expected one"):
        read({"step_s": [1.0]}, n_servers=(1.0, 2.0))


def test_components_are_measured_by_themselves_and_outputs_by_their_shares() -> None:
    rows = read({"step_s": [2.0, 4.0], "compute_s": [3.0, 3.0]})
    expected = {"step_s": np.array([1.0, 4.0]), "compute": np.array([0.0, 1.5])}
    found = measured_ratios(rows, ("compute", "apply"), expected, {"step_s": np.array([[0.7, 0.3], [0.6, 0.4]])})
    # Of a component that takes no time there nothing can be learnt.
    assert_allclose(found.shares, [[0.7, 0.3], [0.6, 0.4], [1.0, 0.0]])
    assert_allclose(found.log_ratio, np.log([2.0, 1.0, 2.0]))
    assert found.column.tolist() == [0, 0, 1]


def test_times_of_another_unit_are_taken_in_seconds() -> None:
    found = read({"step_ms": [1500.0, 2000.0], "compute_us": [2.0e6, 1.0]})
    assert found.measured["step_s"].tolist() == pytest.approx([1.5, 2.0])
    assert found.measured["compute"].tolist() == pytest.approx([2.0, 1e-6])
    with pytest.raises(DataError, match="got column 'step_ms'"):
        read({"step_ms": [1500.0], "step_s": [1.5]})
    with pytest.raises(DataError, match=r"column step_ms: got -1\.0, expected a number > 0"):
        read({"step_ms": [-1.0]})


def read_text(tmp_path: Path, text: str) -> ObservedRows:
    (tmp_path / "steps.csv").write_text(text)
    return read_observed(tmp_path / "steps.csv", [find_cnn("alexnet")], load_machine("cpu-cluster"), JOB, COLUMNS, {})


def test_a_time_that_was_not_measured_of_a_row_is_an_empty_cell(tmp_path: Path) -> None:
    found = read_text(tmp_path, "n_nodes,step_s,compute_ms\n2,1.5,\n2,1.6,\n2,,900\n")
    assert_allclose(found.measured["step_s"], [1.5, 1.6, np.nan])
    assert_allclose(found.measured["compute"], [np.nan, np.nan, 0.9])
    told = measured_ratios(found, ["compute"], {"step_s": np.full(3, 1.5), "compute": np.full(3, 0.9)}, {"step_s": np.ones((3, 1))})
    assert_allclose(told.log_ratio, [0.0, np.log(1.6 / 1.5), 0.0], atol=1e-12)
    assert list(read_text(tmp_path, "n_nodes,step_s,compute_s\n2,1.5,\n").measured) == ["step_s"]


def test_headers_are_read_as_training_reads_them_and_that_is_told(tmp_path: Path) -> None:
    found = read_text(tmp_path, "N Nodes,Subbatch Size,Step [msec]\n2,4,1500\n4,8,1600\n")
    assert_allclose(found.measured["step_s"], [1.5, 1.6])
    assert found.configs[["n_nodes", "subbatch_size"]].to_numpy().tolist() == [[2, 4], [4, 8]]
    assert found.notes == (
        "column 'N Nodes' is read as n_nodes",
        "column 'Subbatch Size' is read as subbatch_size",
        "column 'Step [msec]' is read as step_ms",
    )
    assert read_text(tmp_path, "n_nodes,step_s\n2,1.5\n").notes == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N Nodes,step (ms)\n2,1500\n,1600\n", "line 3, column N Nodes: got an empty cell"),
        ("n_nodes,step_ms\n2,1500\n,1600\n", "line 3, column n_nodes: got an empty cell"),
        ("N Nodes,step (ms)\n2,1500\n2.5,1600\n", "line 3, column N Nodes: got 2.5, expected a whole number >= 1"),
        ("n_nodes,step (ms)\n2,1500\n2,-1\n", "line 3, column step (ms): got -1, expected a number > 0"),
        ("n_nodes,step (ms)\n2,\n", "line 1, column step (ms): has no value"),
        ("N Nodes,n_nodes,step_s\n2,2,1.5\n", "line 1, column N Nodes: got 'N Nodes' and another column that is 'n_nodes'"),
    ],
)
def test_faults_are_told_under_the_name_that_the_file_has(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_text(tmp_path, text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n_nodes,step_s\n2,1.5\n,1.6\n", "line 3, column n_nodes: got an empty cell"),
        ("n_nodes,step_s,compute_s\n2,1.5,\n2,,\n", "line 3, column step_s: got no measured time"),
        ("n_nodes,step_s\n2,1.5\n[N/A],1.6\n", "line 3, column n_nodes: got '[N/A]', expected a value"),
        ("n_nodes,step_s,when\n2,1.5,2026-01-01\n", "column when: cannot be read"),
        ("n_nodes,step_s\n,1.5\n", "column n_nodes: cannot be read: it has no values"),
    ],
)
def test_no_other_cell_may_be_empty(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_text(tmp_path, text)
    assert message in str(caught.value)
    assert "--na" not in f"{caught.value} {caught.value.hint}"


def test_a_column_of_times_without_any_is_named(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("n_nodes,step_s\n8,\n", encoding="ascii")
    with pytest.raises(DataError, match="line 1, column step_s: has no value, expected measured times"):
        read_observed(path, [find_cnn("alexnet")], load_machine("cpu-cluster"), JOB, COLUMNS)


def test_settings_of_a_system_are_numbers() -> None:
    with pytest.raises(DataError, match="row 1, column n_servers: got 'two', expected a number"):
        read({"step_s": [1.0], "n_servers": ["two"]}, n_servers=(1.0, 2.0))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("64,8,8,1", r"column n_nodes: got 64 nodes, expected at most 32 \(machine 'dgx-h100'\)"),
        ("2,16,8,1", "column n_gpus_per_node: got 16 GPUs a node, expected at most 8"),
        ("2,8,10000000,1", "column subbatch_size: got sub-batch 10,000,000 of CNN 'alexnet'"),
    ],
)
def test_rows_that_the_machine_cannot_run_are_told_with_their_line(tmp_path: Path, row: str, told: str) -> None:
    path, machine = tmp_path / "steps.csv", load_machine("dgx-h100")
    path.write_text(f"n_nodes,n_gpus_per_node,subbatch_size,step_s\n2,8,8,1\n{row}\n99,99,8,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"line 3, {told}"):
        read_observed(path, [find_cnn("alexnet")], machine, JOB, COLUMNS).check_limits(machine)


def test_sizes_asked_about_that_no_machine_has_are_the_machines() -> None:
    machine = load_machine("dgx-h100")
    rows = read_observed(pd.DataFrame({"step_s": [1.0]}), [find_cnn("alexnet")], machine, JOB, COLUMNS, {"n_nodes": 99})
    with pytest.raises(DataError, match=r"^machine 'dgx-h100': got 99 nodes"):
        rows.check_limits(machine)


def test_a_mark_at_the_end_of_each_line_makes_no_column(tmp_path: Path) -> None:
    assert_allclose(read_text(tmp_path, "n_nodes,step_s,\n2,1.5,\n4,1.6,\n").measured["step_s"], [1.5, 1.6])


def test_a_time_in_a_unit_that_is_not_read_is_told_with_the_factor(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got column 'step_min'") as caught:
        read_text(tmp_path, "n_nodes,step_min\n2,1.5\n")
    assert caught.value.hint == "Multiply 'step_min' by 60, then call it 'step_s'."
