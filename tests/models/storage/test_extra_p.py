"""Exchange with Extra-P: nothing is lost, and what cannot be said there is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlperf.core.errors import DataError
from mlperf.models.storage.extra_p import (
    Experiment,
    component_experiment,
    experiment_from_text,
    experiment_to_json,
    experiment_to_lines,
    experiments_by_level,
    read_extrap,
    write_extrap,
)

pytestmark = pytest.mark.slow

SMALL = {
    "parameters": ["nodes", "sub"],
    "measurements": {
        "train->allreduce": {
            "time": [{"point": [2, 1], "values": [0.1, 0.30000000000000004]}, {"point": [4, 1], "values": [0.2]}],
            "visits": [{"point": [2, 1], "values": [5]}],
        },
        "a first": {"time": [{"point": [2, 1.5], "values": [1e-300, 2, 3]}]},
    },
}
OLDER = {
    "callpaths": [{"id": 1, "name": "sweep"}, {"id": 2, "name": "other"}],
    "coordinates": [
        {"id": 2, "parameter_value_pairs": [{"parameter_id": 2, "parameter_value": 10}, {"parameter_id": 1, "parameter_value": 8}]},
        {"id": 1, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": 4}, {"parameter_id": 2, "parameter_value": 10}]},
    ],
    "measurements": [
        {"callpath_id": 1, "coordinate_id": 1, "id": 1, "metric_id": 1, "value": 3.5},
        {"callpath_id": 1, "coordinate_id": 1, "id": 2, "metric_id": 1, "value": 3.25},
        {"callpath_id": 2, "coordinate_id": 2, "id": 3, "metric_id": 1, "value": 9},
    ],
    "metrics": [{"id": 1, "name": "time"}],
    "parameters": [{"id": 2, "name": "y"}, {"id": 1, "name": "x"}],
}


def test_json_becomes_one_row_a_repeat() -> None:
    rows = experiment_from_text(json.dumps(SMALL)).rows
    assert list(rows.columns) == ["nodes", "sub", "component", "metric", "run", "value"]
    assert rows[["component", "run", "value"]].to_numpy().tolist()[:3] == [
        ["train->allreduce", 0, 0.1],
        ["train->allreduce", 1, 0.30000000000000004],
        ["train->allreduce", 0, 0.2],
    ]
    assert rows["component"].iloc[-1] == "a first"


def test_json_round_trip_is_exact_in_order_repeats_and_floats() -> None:
    again = json.loads(experiment_to_json(experiment_from_text(json.dumps(SMALL))))
    assert again == SMALL
    assert list(again["measurements"]) == list(SMALL["measurements"])


def test_older_json_is_read_by_its_ids() -> None:
    experiment = experiment_from_text(json.dumps(OLDER))
    assert experiment.parameters == ("x", "y")
    assert experiment.rows.to_numpy().tolist() == [
        [4, 10, "sweep", "time", 0, 3.5],
        [4, 10, "sweep", "time", 1, 3.25],
        [8, 10, "other", "time", 0, 9.0],
    ]


def test_lines_with_defaults_lists_and_numbers() -> None:
    text = (
        '{"params": {"y": 1, "x": 2}, "value": 3}\n\n'
        + '{"params": {"x": 4, "y": 1}, "callpath": "c", "metric": "m", "value": [1.5, 2]}\n'
    )
    experiment = experiment_from_text(text)
    assert experiment.parameters == ("y", "x")
    assert experiment.rows.to_numpy().tolist() == [
        [1, 2, "<root>", "<default>", 0, 3.0],
        [1, 4, "c", "m", 0, 1.5],
        [1, 4, "c", "m", 1, 2.0],
    ]
    assert experiment_from_text(experiment_to_lines(experiment)).rows.equals(experiment.rows)
    assert experiment_from_text(text.splitlines()[0]).rows.to_numpy().tolist() == [[1, 2, "<root>", "<default>", 0, 3]]


finite = st.floats(allow_nan=False, allow_infinity=False)
tables = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["t", "v"]), finite, st.lists(finite, min_size=1, max_size=3)), min_size=1
)


@settings(max_examples=25, deadline=None)
@given(tables)
def test_any_experiment_survives_both_formats(table: list[tuple[str, str, float, list[float]]]) -> None:
    rows = [(point, component, metric, value) for component, metric, point, values in table for value in values]
    frame = pd.DataFrame(rows, columns=["p", "component", "metric", "value"])
    frame.insert(3, "run", frame.groupby(["p", "component", "metric"]).cumcount())
    experiment = Experiment(("p",), frame)
    assert experiment_from_text(experiment_to_lines(experiment)).rows.to_numpy().tolist() == frame.to_numpy().tolist()
    by_json = experiment_from_text(experiment_to_json(experiment))
    assert experiment_from_text(experiment_to_json(by_json)).rows.equals(by_json.rows)
    assert sorted(by_json.rows.to_numpy().tolist()) == sorted(frame.to_numpy().tolist())


def table() -> pd.DataFrame:
    return pd.DataFrame({"nodes": [1, 2, 1], "machine": ["k", "k", "t"], "fetch_s": [0.1, 0.2, 0.3], "sum_s": [1.0, 2.0, 3.0]})


def test_component_table_becomes_call_paths_with_repeats() -> None:
    experiment = component_experiment(table(), ["nodes"], ["fetch_s", "sum_s"])
    assert json.loads(experiment_to_json(experiment)) == {
        "parameters": ["nodes"],
        "measurements": {
            "fetch_s": {"time_s": [{"point": [1], "values": [0.1, 0.3]}, {"point": [2], "values": [0.2]}]},
            "sum_s": {"time_s": [{"point": [1], "values": [1.0, 3.0]}, {"point": [2], "values": [2.0]}]},
        },
    }


def test_categorical_parameter_is_refused_by_name_or_split_by_level() -> None:
    with pytest.raises(DataError, match="categorical") as caught:
        component_experiment(table(), ["nodes", "machine"], ["fetch_s"])
    assert caught.value.place == "column machine"
    parts = experiments_by_level(table(), "machine", ["nodes"], ["fetch_s"])
    assert [len(part.rows) for part in parts.values()] == [2, 1]
    with pytest.raises(DataError, match="finite"):
        component_experiment(table().assign(fetch_s=[1.0, None, 2.0]), ["nodes"], ["fetch_s"])


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_files_round_trip(tmp_path: Path, suffix: str) -> None:
    experiment = experiment_from_text(json.dumps(SMALL))
    write_extrap(experiment, tmp_path / f"one.{suffix}")
    first = (tmp_path / f"one.{suffix}").read_bytes()
    write_extrap(read_extrap(tmp_path / f"one.{suffix}"), tmp_path / f"two.{suffix}")
    assert (tmp_path / f"two.{suffix}").read_bytes() == first


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"parameters": ["x"]}, "$.measurements"),
        ({"parameters": ["x"], "measurements": {"c": {"m": [{"point": [1, 2], "values": [1]}]}}}, "$.measurements.c.m[0].point"),
        ({"parameters": ["x"], "measurements": {"c": {"m": [{"point": ["a"], "values": [1]}]}}}, "$.measurements.c.m[0].point[0]"),
        (OLDER | {"metrics": []}, "$.measurements[0].metric_id"),
        ({"params": {"x": "gpu"}, "value": 1}, "line 1: $.params.x"),
        ({"params": {"x": 1}}, "line 1: $.value"),
        ([1], "$"),
    ],
)
def test_a_broken_file_is_an_error_with_its_place(tmp_path: Path, document: Any, place: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_extrap(path)
    assert caught.value.place == f"{path}: {place}"
