"""Exchange of experiments with Extra-P: its JSON, its older JSON with ids, and JSON Lines, read and written without loss."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.documents import file_text
from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.storage.document import document_from_json, placed

LONG_COLUMNS = ("component", "metric", "run", "value")
DEFAULT_COMPONENT = "<root>"
DEFAULT_METRIC = "<default>"
LINES_SUFFIXES = (".jsonl", ".jsonlines")

Row = tuple[tuple[float, ...], str, str, tuple[float, ...]]
"""Point, call path, metric, repeats."""


@dataclass(frozen=True, slots=True, eq=False)
class Experiment(Shown):
    """Measurements over numeric parameters.

    Attributes
    ----------
    parameters : tuple of str
        Names of the parameter columns, in the file's order.
    rows : DataFrame
        One row a repeat: the parameters, ``component`` (Extra-P's call path), ``metric`` (with its unit), ``run`` (number of the
        repeat of that point, from 0) and ``value``, in the file's order.
    """

    parameters: tuple[str, ...]
    rows: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """The rows as a table."""
        return self.rows


def read_extrap(path: str | Path) -> Experiment:
    """Read an Extra-P experiment: JSON, older JSON with ids, or JSON Lines, told apart by their content.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    DataError
        With file and JSON path (or line): not such a file, a missing key, a parameter that is not a number.
    """
    experiment: Experiment = placed(path, lambda: experiment_from_text(file_text(path)))
    return experiment


def experiment_from_text(text: str) -> Experiment:
    """The experiment in a text of any of the three formats; see `read_extrap`."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > 1 and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for _, line in lines):
        return _from_lines(lines)
    document = document_from_json(text)
    if isinstance(document, dict) and "params" in document:
        return _from_lines(lines)
    return _from_ids(document) if isinstance(document, dict) and "callpaths" in document else _from_json(document)


def write_extrap(experiment: Experiment, path: str | Path) -> None:
    """Write an experiment for Extra-P: JSON Lines where the name ends in .jsonl, else JSON; whole or not at all."""
    path = Path(path)
    write_text_whole(path, experiment_to_lines(experiment) if path.suffix in LINES_SUFFIXES else experiment_to_json(experiment))


def experiment_to_json(experiment: Experiment) -> str:
    """Extra-P's JSON: ``parameters`` and, by call path and metric, points with their repeats."""
    measurements: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for point, component, metric, values in _grouped(experiment):
        entry = {"point": list(point), "values": list(values)}
        measurements.setdefault(component, {}).setdefault(metric, []).append(entry)
    document = {"parameters": list(experiment.parameters), "measurements": measurements}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def experiment_to_lines(experiment: Experiment) -> str:
    """JSON Lines: one object a point, ``value`` a list where there are several repeats."""
    lines = []
    for point, component, metric, values in _grouped(experiment):
        parameters = dict(zip(experiment.parameters, point, strict=True))
        value = values[0] if len(values) == 1 else list(values)
        lines.append({"params": parameters, "callpath": component, "metric": metric, "value": value})
    return "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines)


def component_experiment(
    frame: pd.DataFrame, parameters: Sequence[str], components: Sequence[str], metric: str = "time_s"
) -> Experiment:
    """Turn a table with one column a component into an experiment.

    Parameters
    ----------
    frame : DataFrame
        One row a run.
    parameters : sequence of str
        Numeric columns that Extra-P shall model over.
    components : sequence of str
        Columns of measured values; each becomes a call path of that name.
    metric : str
        Name of what they measure, with its unit.

    Raises
    ------
    DataError
        A missing column; a parameter that is categorical (Extra-P has numeric parameters only: see `experiments_by_level`); a value
        that is not a finite number.
    """
    for name in (*parameters, *components):
        _check_numeric(frame, name)
    points = list(zip(*(frame[name].tolist() for name in parameters), strict=True)) if parameters else [()] * len(frame)
    order = sorted(range(len(frame)), key=_first_seen(points))
    entries: list[Row] = [
        (points[row], component, metric, (float(values[row]),))
        for component, values in ((component, frame[component].tolist()) for component in components)
        for row in order
    ]
    return _experiment(tuple(parameters), entries)


def experiments_by_level(
    frame: pd.DataFrame, level: str, parameters: Sequence[str], components: Sequence[str], metric: str = "time_s"
) -> dict[str, Experiment]:
    """One experiment for every level of a categorical column, by the level's name; else as `component_experiment`."""
    if level not in frame.columns:
        raise DataError(f"missing, expected one of {', '.join(map(str, frame.columns))}", place=f"column {level}")
    return {
        str(name): component_experiment(part, parameters, components, metric)
        for name, part in frame.groupby(level, sort=False, observed=True)
    }


def _from_json(document: Any) -> Experiment:
    with Fields(document) as fields:
        if "$schema" in fields.names:
            fields.text("$schema")
        parameters = _names(fields)
        entries: list[Row] = []
        for component, metrics in fields.named_children("measurements").items():
            entries += [row for metric in metrics.ordered_names for row in _points(metrics, component, metric, len(parameters))]
    return _experiment(parameters, entries)


def _points(metrics: Fields, component: str, metric: str, n_parameters: int) -> Iterator[Row]:
    for entry in metrics.children(metric):
        with entry:
            yield _numbers(entry, "point", n_parameters), component, metric, _numbers(entry, "values")


def _from_ids(document: Any) -> Experiment:
    with Fields(document) as fields:
        parameters, components, metrics = (_by_id(fields, key) for key in ("parameters", "callpaths", "metrics"))
        order = list(parameters)
        points = {}
        for entry in fields.children("coordinates"):
            with entry:
                points[entry.integer("id")] = _coordinate(entry, order)
        entries: list[Row] = []
        for entry in fields.children("measurements"):
            with entry:
                if "id" in entry.names:
                    entry.integer("id")
                point = _lookup(points, entry, "coordinate_id")
                component = _lookup(components, entry, "callpath_id")
                metric = _lookup(metrics, entry, "metric_id")
                entries.append((point, component, metric, (entry.number("value"),)))
    return _experiment(tuple(parameters.values()), entries)


def _by_id(fields: Fields, key: str) -> dict[int, str]:
    names = {}
    for entry in fields.children(key):
        with entry:
            names[entry.integer("id")] = entry.text("name")
    return dict(sorted(names.items()))


def _coordinate(entry: Fields, order: Sequence[int]) -> tuple[float, ...]:
    values: dict[int, float] = {}
    for pair in entry.children("parameter_value_pairs", len(order)):
        with pair:
            number = pair.integer("parameter_id")
            values[number] = _whole(pair.raw("parameter_value"), pair.number("parameter_value"))
    if sorted(values) != sorted(order):
        raise DataError(f"got parameters {sorted(values)}, expected {sorted(order)}", place=f"{entry.path}.parameter_value_pairs")
    return tuple(values[number] for number in order)


def _lookup(table: dict[int, Any], entry: Fields, key: str) -> Any:
    number = entry.integer(key)
    if number not in table:
        raise DataError(f"got {number}, expected one of {', '.join(map(str, list(table)[:8]))}", place=f"{entry.path}.{key}")
    return table[number]


def _from_lines(lines: Iterable[tuple[int, str]]) -> Experiment:
    parameters: tuple[str, ...] | None = None
    entries: list[Row] = []
    for number, line in lines:
        with Fields(placed(f"line {number}", lambda text=line: document_from_json(text)), f"line {number}: $") as fields:  # type: ignore[misc]
            values = fields.child("params")
            parameters = parameters or values.ordered_names
            point = tuple(_whole(values.raw(name), values.number(name)) for name in parameters)
            values.close()
            component = fields.text("callpath") if "callpath" in fields.names else DEFAULT_COMPONENT
            metric = fields.text("metric") if "metric" in fields.names else DEFAULT_METRIC
            several = isinstance(fields.raw("value"), list)
            entries.append((point, component, metric, _numbers(fields, "value") if several else (fields.number("value"),)))
    return _experiment(parameters or (), entries)


def _names(fields: Fields) -> tuple[str, ...]:
    names = fields.texts("parameters")
    wrong = [name for name in names if names.count(name) > 1 or name in LONG_COLUMNS]
    if wrong:
        raise DataError(f"got {wrong[0]!r}, expected different names other than {', '.join(LONG_COLUMNS)}", place="$.parameters")
    return names


def _numbers(fields: Fields, key: str, length: int | None = None) -> tuple[float, ...]:
    return tuple(_whole(raw, value) for raw, value in zip(fields.items(key), fields.numbers(key, length).tolist(), strict=True))


def _whole(raw: Any, value: float) -> float:
    """The number as the file wrote it: 4 stays a whole number, 4.0 a float."""
    return raw if isinstance(raw, int) else value


def _experiment(parameters: tuple[str, ...], entries: Iterable[Row]) -> Experiment:
    seen: dict[tuple[tuple[float, ...], str, str], int] = {}
    rows = []
    for point, component, metric, values in entries:
        for value in values:
            run = seen.get((point, component, metric), 0)
            seen[point, component, metric] = run + 1
            rows.append((*point, component, metric, run, value))
    return Experiment(parameters, pd.DataFrame(rows, columns=[*parameters, *LONG_COLUMNS]))


def _grouped(experiment: Experiment) -> Iterator[Row]:
    """Rows in order, neighbouring repeats of one point together, as Python numbers."""
    for name in (*experiment.parameters, "value"):
        _check_numeric(experiment.rows, name)
    columns = [experiment.rows[name].tolist() for name in (*experiment.parameters, "component", "metric", "value")]
    n_parameters = len(experiment.parameters)
    for key, rows in groupby(zip(*columns, strict=True), key=lambda row: row[:-1]):
        yield key[:n_parameters], str(key[n_parameters]), str(key[n_parameters + 1]), tuple(row[-1] for row in rows)


def _check_numeric(frame: pd.DataFrame, name: str) -> None:
    if name not in frame.columns:
        raise DataError(f"missing, expected one of {', '.join(map(str, frame.columns))}", place=f"column {name}")
    column = frame[name]
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        raise DataError(
            f"got a categorical column ({column.dtype}), expected numbers",
            place=f"column {name}",
            hint="Extra-P models numeric parameters only: leave the column out, or write a file a level (experiments_by_level).",
        )
    finite = np.isfinite(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise DataError(
            f"got {column.iloc[row]}, expected a finite number", place=f"row {row + 1}, column {name}", hint="Drop that row first."
        )


def _first_seen(points: Sequence[tuple[float, ...]]) -> Any:
    first: dict[tuple[float, ...], int] = {}
    for row, point in enumerate(points):
        first.setdefault(point, row)
    return lambda row: (first[points[row]], row)
