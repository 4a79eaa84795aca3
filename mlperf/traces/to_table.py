"""Traces as a measurement table: component times of each run, for `mlperf train`."""

from __future__ import annotations

import io
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.core.files import replacing
from mlperf.core.shown import Shown
from mlperf.core.suggest import did_you_mean
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.content import read_content
from mlperf.traces.timeline.intervals import Intervals, clipped, joined, union, without
from mlperf.traces.timeline.windows import Windows

WALL, SUM = "wall", "sum"
RULES = ("kind", "name", "site", "category")
NS = 1e-9
NAME = re.compile(r"[a-z][a-z0-9_]*")
RESERVED = ("step", "other", "run")


@dataclass(frozen=True, slots=True)
class Component:
    """Which events are a component's.

    Attributes
    ----------
    name : str
        Its column is this with ``_s``.
    kinds : tuple of Kind
        Any of these; empty: any kind with a duration.
    patterns : mapping
        Column (``name``, ``site``, ``name2``) to a regular expression that its text must hold.
    """

    name: str
    kinds: tuple[Kind, ...]
    patterns: Mapping[str, re.Pattern[str]]

    def rows(self, table: EventTable) -> IntArray:
        """Rows of its events."""
        kept = (table.duration_ns > 0) & (table.kind != Kind.MARK)
        if self.kinds:
            kept &= np.isin(table.kind, [int(kind) for kind in self.kinds])
        for column, pattern in self.patterns.items():
            fits = np.array([bool(pattern.search(text)) for text in table.strings] + [bool(pattern.search(""))], dtype=bool)
            kept &= fits[getattr(table, column)]
        return np.flatnonzero(kept)


@dataclass(frozen=True, slots=True)
class ComponentMapping:
    """What a mapping file says.

    Attributes
    ----------
    components : tuple of Component
        The first come first: with ``wall`` a moment belongs to the first component that has it.
    overlap : str
        ``wall`` (moments, each counted once) or ``sum`` (durations of all events).
    warm_up : int
        Iterations at the start of each rank that are left out.
    """

    components: tuple[Component, ...]
    overlap: str
    warm_up: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TraceTable(Shown, frame="table"):
    """A measurement table made of traces.

    Attributes
    ----------
    file : str
        Where it was written; empty where nowhere.
    table : DataFrame
        One row a run: ``run``, the columns of the keys, ``step_s``, ``<component>_s`` and ``other_s`` (means over iterations and
        ranks after warm-up), ``step_std_s`` and ``<component>_std_s``, ``<component>_calls``, ``<component>_bytes``,
        ``n_iterations``, ``n_ranks``.
    iterations : DataFrame
        One row a run, rank and iteration, the same columns before the means, in nanoseconds; of one step the components and
        ``other_ns`` add up to ``step_ns`` exactly with ``wall``.
    closure_ns : int
        Largest difference between a step and the sum of its parts, nanoseconds; -1 with ``sum``, where parts may overlap.
    notes : tuple of str
    """

    file: str
    table: pd.DataFrame
    iterations: pd.DataFrame
    closure_ns: int
    notes: tuple[str, ...]


def read_mapping(path: Path | str) -> ComponentMapping:
    """Read a mapping: ``overlap``, ``warm_up``, and tables ``[components.NAME]`` with ``kind``, ``name``, ``site``, ``category``.

    Raises
    ------
    DataError
        Names the file and the key.
    """
    document = read_toml(path)
    unknown = sorted(set(document) - {"overlap", "warm_up", "components"})
    if unknown:
        raise DataError(f"no key {unknown[0]!r}. {did_you_mean(unknown[0], ('overlap', 'warm_up', 'components'))}", place=str(path))
    overlap, warm_up, components = document.get("overlap", WALL), document.get("warm_up", 0), document.get("components")
    if overlap not in (WALL, SUM):
        raise DataError(f"got {overlap!r}, expected {WALL!r} or {SUM!r}", place=f"{path}, overlap")
    if type(warm_up) is not int or warm_up < 0:
        raise DataError(f"got {warm_up!r}, expected a number of iterations", place=f"{path}, warm_up")
    if not isinstance(components, dict) or not components:
        raise DataError(
            "has no [components.NAME]", place=str(path), hint='[components.gemm] and name = "gemm" make a column gemm_s.'
        )
    return ComponentMapping(tuple(_component(path, name, rule) for name, rule in components.items()), overlap, warm_up)


def read_keys(path: Path | str) -> pd.DataFrame:
    """Read a CSV with a column ``run``; columns that hold only numbers are numbers.

    Raises
    ------
    DataError
        It is no table, has no such column, or a run twice.
    """
    try:
        keys = pd.read_csv(io.BytesIO(read_content(Path(path))), dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataError(f"is no table ({error})", place=str(path)) from None
    if "run" not in keys.columns:
        raise DataError(f"has no column run, but {', '.join(map(str, keys.columns))}", place=f"{path}, line 1")
    twice = np.flatnonzero(keys["run"].duplicated())
    if len(twice):
        raise DataError(f"run {keys['run'].iloc[twice[0]]!r} is there twice", place=f"{path}, line {twice[0] + 2}, column run")
    for name in keys.columns.drop("run"):
        numbers = pd.to_numeric(keys[name], errors="coerce")
        if not numbers.isna().any():
            keys[name] = numbers
    keys.attrs["path"] = str(path)
    return keys


def run_name(path: Path, known: Container[str]) -> str:
    """Name of a file's or folder's run: its own without its endings, with its folder's where that is taken.

    Raises
    ------
    DataError
        Both are taken.
    """
    own = path.name.removesuffix(".gz").removesuffix(".json")
    for name in (own, f"{path.parent.name}/{own}"):
        if name not in known:
            return name
    raise DataError(f"is the second run of the name {own!r}", place=str(path))


def _component(path: Path | str, name: str, rule: Any) -> Component:
    """One component of the file."""
    place = f"{path}, components.{name}"
    if not NAME.fullmatch(name) or name in RESERVED:
        raise DataError(f"got {name!r}, expected lower-case letters, digits and _, none of {', '.join(RESERVED)}", place=place)
    if not isinstance(rule, dict) or not rule:
        raise DataError(f"got {rule!r}, expected some of {', '.join(RULES)}", place=place)
    for key, value in rule.items():
        if key not in RULES:
            raise DataError(f"no key {key!r}. {did_you_mean(key, RULES)}", place=place)
        if not isinstance(value, str) and not (key == "kind" and isinstance(value, list)):
            raise DataError(f"got {value!r}, expected a text", place=f"{place}.{key}")
    words = rule.get("kind", [])
    kinds = []
    for word in [words] if isinstance(words, str) else words:
        if word not in Kind.__members__:
            raise DataError(f"no kind {word!r}. {did_you_mean(str(word), Kind.__members__)}", place=f"{place}.kind")
        kinds.append(Kind[word])
    columns = {"name": "name", "site": "site", "category": "name2"}
    patterns = {columns[key]: _pattern(f"{place}.{key}", rule[key]) for key in columns if key in rule}
    return Component(name, tuple(kinds), patterns)


def _pattern(place: str, text: str) -> re.Pattern[str]:
    """A regular expression of the file."""
    try:
        return re.compile(text)
    except re.error as error:
        raise DataError(f"got {text!r}, expected a regular expression ({error})", place=place) from None


def to_table(
    runs: Mapping[str, tuple[EventTable, Sequence[Windows]]],
    mapping: ComponentMapping,
    keys: pd.DataFrame | None = None,
    file: Path | str | None = None,
) -> TraceTable:
    """Make the table, and write it.

    Parameters
    ----------
    runs : mapping
        Name of each run to its trace and the windows of its ranks.
    mapping : ComponentMapping
        By `read_mapping`.
    keys : DataFrame, optional
        One row a run: ``run`` and the columns that tell runs apart (network, batch, nodes).
    file : path, optional
        A CSV file.

    Raises
    ------
    DataError
        A run has no row of keys, or no iteration after warm-up.
    """
    known = keys_by_run(keys, list(runs))
    parts = [_iterations(name, table, list(windows), mapping) for name, (table, windows) in runs.items()]
    iterations = pd.concat(parts, ignore_index=True)
    names = [component.name for component in mapping.components]
    rows = [{**_run_row(name, group, names), **known.get(str(name), {})} for name, group in iterations.groupby("run", sort=False)]
    columns = ["run", *(list(keys.columns.drop("run")) if keys is not None else [])]
    table = pd.DataFrame(rows)
    table = table[[*columns, *(name for name in table.columns if name not in columns)]]
    closure = -1
    if mapping.overlap == WALL:
        whole = iterations[[f"{name}_ns" for name in (*names, "other")]].sum(axis=1)
        closure = int((whole - iterations["step_ns"]).abs().max())
    if file is not None:
        with replacing(Path(file)) as stream:
            stream.write(table.to_csv(index=False, lineterminator="\n").encode())
    notes = tuple(dict.fromkeys(note for trace, _ in runs.values() for note in trace.notes))
    unused = [f"no event of any run belongs to component {name}" for name in names if not iterations[f"{name}_calls"].any()]
    return TraceTable(str(file or ""), table, iterations, closure, (*notes, *unused))


def keys_by_run(keys: pd.DataFrame | None, runs: list[str]) -> dict[str, dict[str, Any]]:
    """Columns of keys by run."""
    if keys is None:
        return {}
    if "run" not in keys.columns:
        raise DataError(f"has no column run, but {', '.join(map(str, keys.columns))}", place="keys")
    found = {str(row["run"]): row for row in keys.to_dict("records")}
    missing = [run for run in runs if run not in found]
    if missing:
        hint = f"Its runs are {', '.join(list(found)[:8])}."
        raise DataError(f"has no row for run {missing[0]!r}", place=keys.attrs.get("path", "keys"), hint=hint)
    return {run: {str(name): value for name, value in row.items()} for run, row in found.items()}


def _iterations(run: str, table: EventTable, windows: list[Windows], mapping: ComponentMapping) -> pd.DataFrame:
    """One row a rank and iteration."""
    rows = []
    for each in windows:
        own = {}
        for component in mapping.components:
            found = component.rows(table)
            own[component.name] = found[table.rank[found] == each.rank]
        unions = _unions(table, own)
        for place in range(min(mapping.warm_up, len(each)), len(each)):
            start, end = int(each.start_ns[place]), int(each.end_ns[place])
            row: dict[str, Any] = {"run": run, "rank": each.rank, "iteration": int(each.number[place]), "step_ns": end - start}
            row |= _parts(table, own, unions, (start, end), mapping.overlap)
            rows.append(row)
    if not rows:
        raise DataError(f"run {run!r} has no iteration after {mapping.warm_up} of warm-up", place=", ".join(table.sources[:1]))
    return pd.DataFrame(rows)


def _unions(table: EventTable, own: dict[str, IntArray]) -> dict[str, Intervals]:
    """Moments of each component that none before it has."""
    found: dict[str, Intervals] = {}
    taken = union([], [])
    for name, rows in own.items():
        whole = union(table.start_ns[rows], table.end_ns[rows])
        found[name] = without(whole, taken)
        taken = joined(taken, whole)
    return found


def _parts(
    table: EventTable, own: dict[str, IntArray], unions: dict[str, Intervals], window: tuple[int, int], overlap: str
) -> dict[str, int]:
    """Time, calls and bytes of every component in one window, and the rest of the time."""
    start, end = window
    row: dict[str, int] = {}
    moments = 0
    for name, rows in own.items():
        inside = rows[(table.start_ns[rows] >= start) & (table.start_ns[rows] < end)]
        wall = clipped(unions[name], start, end).total_ns
        moments += wall
        row[f"{name}_ns"] = wall if overlap == WALL else int(table.duration_ns[inside].sum())
        row[f"{name}_calls"] = len(inside)
        row[f"{name}_bytes"] = int(table.size_bytes[inside].sum())
    row["other_ns"] = end - start - moments
    return row


def _run_row(run: object, group: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    """Means and deviations of one run."""
    row: dict[str, Any] = {"run": run}
    for name in ("step", *names, "other"):
        row[f"{name}_s"] = float(group[f"{name}_ns"].mean()) * NS
    for name in ("step", *names):
        row[f"{name}_std_s"] = float(group[f"{name}_ns"].std(ddof=1)) * NS if len(group) > 1 else 0.0
    for name in names:
        row[f"{name}_calls"] = float(group[f"{name}_calls"].mean())
        row[f"{name}_bytes"] = float(group[f"{name}_bytes"].mean())
    row["n_iterations"] = int(group["iteration"].nunique())
    row["n_ranks"] = int(group["rank"].nunique())
    return row
