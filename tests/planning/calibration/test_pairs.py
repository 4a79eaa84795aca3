"""Predicted beside measured rows: how columns are told apart, and every row without a partner named with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlperf.core.errors import DataError, UsageError
from mlperf.planning.calibration.pairs import read_pairs

pytestmark = pytest.mark.slow

PREDICTED = "net,nodes,step_s\na,1,2.0\na,2,1.0\nb,1,4.0\n"
MEASURED = "net,nodes,step_s\nb,1,5.0\na,1,2.2\na,1,2.4\n"


@pytest.fixture
def write(tmp_path: Path):  # type: ignore[no-untyped-def]
    def written(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


def test_rows_find_each_other_and_repeated_measurements_stay(write) -> None:  # type: ignore[no-untyped-def]
    found = read_pairs(write("p.csv", PREDICTED), write("m.csv", MEASURED), by=("net",))
    assert found.on == ("net", "nodes")
    assert found.frame[["predicted", "measured"]].to_numpy().tolist() == [[4.0, 5.0], [2.0, 2.2], [2.0, 2.4]]
    assert_allclose(found.log_ratio, np.log([1.25, 1.1, 1.2]))
    assert found.labels.ravel().tolist() == ["b", "a", "a"]
    assert found.n_unmeasured == 1
    assert set(found.data_sha256) == {"p.csv", "m.csv"}


@pytest.mark.parametrize("name", ["step (ms)", "step [msec]", "Step, ms"])
def test_a_unit_in_brackets_is_one(name: str, write) -> None:  # type: ignore[no-untyped-def]
    found = read_pairs(write("p.csv", PREDICTED), write("m.csv", f'net,nodes,loss,"{name}"\na,1,0.5,2200\nb,1,0.4,4400\n'))
    assert found.frame["measured"].tolist() == pytest.approx([2.2, 4.4])


def test_values_of_different_names_and_named_ones(write) -> None:  # type: ignore[no-untyped-def]
    measured = write("m.csv", "net,nodes,time_ms\na,1,2.2\nb,1,4.4\n")
    found = read_pairs(write("p.csv", PREDICTED), measured)
    assert (found.predicted_column, found.measured_column) == ("step_s", "time_ms")
    assert found.frame["measured"].tolist() == pytest.approx([2.2e-3, 4.4e-3])
    assert found.unit_ratio == pytest.approx(1e-3)
    two = write("q.csv", "net,nodes,fast_s,slow_s\na,1,2.0,3.0\nb,1,4.0,5.0\n")
    with pytest.raises(DataError, match=r"fast_s, slow_s, expected one that[\s\S]*--predicted-column"):
        read_pairs(two, measured, on=("net", "nodes"))
    found = read_pairs(two, measured, on=("net", "nodes"), predicted_column="slow_s")
    assert found.frame["predicted"].tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    ("predicted", "measured", "message"),
    [
        (PREDICTED, MEASURED + "c,9,1.0\n", r"m.csv, line 5, column net: got net 'c', nodes 9[\s\S]*no row is left out silently"),
        (PREDICTED + "a,1,3.0\n", MEASURED, r"p.csv, line 5, column net: got net 'a', nodes 1 a second time"),
        (PREDICTED, "net,nodes,step_s\na,1,0\n", r"m.csv, line 2, column step_s: got 0, expected a number > 0"),
        (PREDICTED, "net,nodes,step_s\na,one,2\n", r"p.csv, line 2, column nodes: got numbers[\s\S]*expected labels as in m.csv"),
        ("x_s\n1.0\n", "y_s\n2.0\n", "has no column that p.csv has too"),
        (PREDICTED, "net,nodes\na,1\n", "m.csv, line 1, column nodes: got columns net, nodes, expected a further one of numbers"),
        (
            PREDICTED,
            "net,step_s\na,1.0\n",
            r"p.csv, line 3, column net: got net 'a' a second time[\s\S]*m.csv has no column 'nodes'",
        ),
        (PREDICTED, "net,Nodes,step_s\na,1,1.0\n", r"m.csv has no column 'nodes', .*: add it there, or call 'Nodes' so"),
        (PREDICTED, "net,nodes,step_s\na,1,2 ms\na,2,1 ms\n", "m.csv, line 2, column step_s[\\s\\S]*write 0.002 for '2 ms'"),
        (
            PREDICTED,
            "net,nodes,step_s\na,1,\n",
            r"m.csv, line 2, column step_s: got an empty cell[\s\S]*Fill the cell, or remove the row",
        ),
        (PREDICTED + "a,1,2.0\n", MEASURED, r"p.csv, line 5, column net: got net 'a', nodes 1 a second time"),
    ],
)
def test_what_does_not_fit_is_named(predicted: str, measured: str, message: str, write) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=message):
        read_pairs(write("p.csv", predicted), write("m.csv", measured))


def test_groups_are_columns_of_labels(write) -> None:  # type: ignore[no-untyped-def]
    paths = write("p.csv", PREDICTED), write("m.csv", MEASURED)
    with pytest.raises(DataError, match="have no column 'nett'"):
        read_pairs(*paths, by=("nett",))
    with pytest.raises(UsageError, match="holds a value"):
        read_pairs(*paths, by=("step_s",), predicted_column="step_s", measured_column="step_s")


def test_values_in_a_unit_that_is_not_brought_to_that_of_the_predictions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("net,batch,step_ms\na,1,10.5\nb,1,20.5\n", "utf-8")
    (tmp_path / "m.csv").write_text("net,batch,step_min\na,1,0.0002\nb,1,0.0004\n", "utf-8")
    with pytest.raises(
        DataError, match=r"m.csv, line 1, column step_min: got 'step_min', expected the unit of 'step_ms'"
    ) as caught:
        read_pairs(tmp_path / "p.csv", tmp_path / "m.csv")
    assert caught.value.hint == "Multiply 'step_min' by 60000, then call it 'step_ms'."
