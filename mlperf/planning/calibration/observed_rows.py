"""Measured steps of the user's as a table: configurations, and the component or the output that was measured of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest, nearest_hint
from mlperf.datasets.dictionary.numbers import WHOLE_HINT, number_hint
from mlperf.datasets.joining.join import Side, Table, read_side
from mlperf.datasets.reading.cell_units import unit_advice
from mlperf.datasets.reading.foreign import UNNAMED, open_table
from mlperf.datasets.reading.notes import cell_text
from mlperf.datasets.reading.time_units import RATE, TIME_SUFFIXES, plain_name, unit_ratio
from mlperf.planning.calibration.pairs import check_positive
from mlperf.planning.limits import check_limits
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.zoo.zoo import find_cnn
from mlperf.training.systems.plain_names import RENAMED, renamed_notes, with_plain_names

SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
EMPTY = "has no values"


@dataclass(frozen=True, slots=True, eq=False)
class ObservedRows:
    """Measured steps: their configurations, and what was measured of each.

    Attributes
    ----------
    cnns : tuple of CnnSpec
        Networks that ``configs["cnn"]`` counts from 0.
    configs : DataFrame
        One row a measured configuration: ``cnn, n_nodes, n_gpus_per_node, subbatch_size, dataset_size``.
    measured : mapping of str to array
        Component or output to seconds, NaN where a cell is empty.
    side : Side
        The table that they were read from, for errors found later.
    """

    cnns: tuple[CnnSpec, ...]
    configs: pd.DataFrame
    measured: Mapping[str, FloatArray]
    side: Side

    @property
    def notes(self) -> tuple[str, ...]:
        """Which columns were read under another name than the table has."""
        return renamed_notes(self.side.frame)

    def check_limits(self, machine: MachineSpec, *, memory: bool = True) -> None:
        """Accept configurations that the machine can run; DataError with the line of the first other one."""
        if fault_of(machine, self.cnns, self.configs, memory=memory) is None:
            return
        for row in range(len(self.configs)):
            error = fault_of(machine, self.cnns, self.configs.iloc[[row]], memory=memory)
            if error is not None:
                raise self._placed(error, machine, row)

    def _placed(self, error: DataError, machine: MachineSpec, row: int) -> DataError:
        """What a machine cannot run, at the row's cell that says so; as it is where the size is the one asked about."""
        ones = self.configs.iloc[[row]].assign(**dict.fromkeys(SIZES, 1))
        for name in SIZES:
            alone = ones.assign(**{name: self.configs[name].iloc[row]})
            if name in self.side.frame and fault_of(machine, self.cnns, alone, memory=name == SIZES[-1]) is not None:
                hint = "Correct the row, or describe the machine that was measured in a TOML file (--machine FILE)."
                return DataError(f"{error.message} ({error.place})", place=self.side.place(row, [name]), hint=hint)
        return error


def fault_of(machine: MachineSpec, cnns: Sequence[CnnSpec], configs: pd.DataFrame, *, memory: bool) -> DataError | None:
    """Why the machine cannot run the configurations; None where it can."""
    try:
        check_limits(machine, cnns, configs, memory=memory)
    except DataError as error:
        return error
    return None


def read_observed(
    observed: Table,
    cnns: Sequence[CnnSpec],
    machine: MachineSpec,
    job: JobSpec,
    columns: Mapping[str, str],
    asked: Mapping[str, Any] | None = None,
) -> ObservedRows:
    """Read measured steps.

    Parameters
    ----------
    observed : DataFrame, str or Path
        One row a measured configuration.
    cnns, machine, job
        What is asked about.
    columns : mapping of str to str
        Column of measured values to what it is called in `ObservedRows.measured`.
    asked : mapping of str to number, sequence or None
        Sizes and settings asked about: where there is one value of them, rows that leave the column out have it, else the job's.

    Raises
    ------
    DataError
        The table has no such column, a network that nobody knows, a value that is not > 0, a row without any, or an empty cell of
        what makes a configuration.
    """
    asked = asked or {}
    read = with_known_names(read_side(observed, "observed", "keep", others="offer"), columns, asked)
    check_set_aside(read, columns)
    side = in_seconds(read, columns)
    frame = side.frame
    values = [str(name) for name in frame if str(name) in columns]
    known = tuple(dict.fromkeys(("cnn", *SIZES, "dataset_size", *asked, *columns)))
    strange = [str(name) for name in frame if str(name) not in known]
    times = in_any_unit(columns)
    unfilled = [name for name, why in frame.attrs.get("aside", {}).items() if name in times and why == EMPTY]
    if unfilled and not values:
        hint = "Write the measured seconds into its cells."
        raise DataError("has no value, expected measured times", place=side.header_place(unfilled[0]), hint=hint)
    if strange or not values:
        got = f"got column {strange[0]!r}" if strange else "got no measured time"
        advice = unit_advice(strange[0], nearest(strange[0], known) or "") if strange else "Such as step_s or compute_gradient_s."
        hint = advice or nearest_hint(strange[0], known)
        raise DataError(
            f"{got}, expected columns among {', '.join(known)}",
            place=side.header_place(strange[0] if strange else "step_s"),
            hint=hint,
        )
    for name in values:
        check_positive(side, name, gaps=True)
    check_filled(side, values)
    check_settings(side, (*SIZES, "dataset_size"), asked)
    nets, number = _observed_networks(side, cnns)
    given: dict[str, Any] = {
        "n_nodes": job.n_nodes,
        "n_gpus_per_node": machine.n_gpus_per_node,
        "subbatch_size": job.subbatch_size,
        "dataset_size": job.dataset_size,
    }
    for name, value in asked.items():
        if value is not None and np.size(value) == 1:
            given[name] = np.ravel(value)[0]
    for name in asked:
        if name not in frame and name not in given:
            got = f"has no column {name}, expected one: several values are asked about"
            raise DataError(got, place=side.header_place(name))
    named = {name: frame[name].to_numpy() for name in (*SIZES, "dataset_size", *asked) if name in frame}
    configs = pd.DataFrame({"cnn": number, **{name: named.get(name, given.get(name)) for name in (*given, *named)}})
    measured = {columns[name]: frame[name].to_numpy(float) for name in values}
    return ObservedRows(tuple(nets), configs, measured, side)


def with_known_names(side: Side, columns: Iterable[str], asked: Iterable[str]) -> Side:
    """The same rows under known names where a header spells them otherwise (``step (ms)``, ``Subbatch Size``)."""
    known = ("cnn", *SIZES, "dataset_size", *asked, *in_any_unit(columns))
    frame = with_plain_names(side.frame, (), side.name if side.path is None else str(side.path), known=known)
    aside = dict(frame.attrs.get("aside", {}))
    unread = {name: plain for name in aside if (plain := plain_name(name)) in known and plain not in frame}
    named = {**unread, **frame.attrs[RENAMED]}
    frame.attrs = {**frame.attrs, "aside": {named.get(name, name): why for name, why in aside.items()}}
    return replace(side, frame=frame, renamed={plain: name for name, plain in named.items()})


def in_any_unit(columns: Iterable[str]) -> set[str]:
    """Columns of seconds under every name that they may have: ``step_s``, ``step_ms``, ..."""
    names = set(columns)
    return names | {f"{name.removesuffix(TIME_SUFFIXES[0])}{end}" for name in names for end in TIME_SUFFIXES}


def check_set_aside(side: Side, columns: Iterable[str]) -> None:
    """Accept a file of which every column was read, but for measurements that nobody made; DataError names the first other one."""
    measured = in_any_unit(columns)
    for name, why in side.frame.attrs.get("aside", {}).items() if side.sha256 else ():
        # A mark at the end of each line makes a column without a name, and pandas one of row numbers: nothing was measured there.
        if name not in side.frame and not name.startswith(UNNAMED) and (name not in measured or why != EMPTY):
            raise DataError(f"cannot be read: it {why}", place=side.header_place(name), hint="Leave the column out.")


def check_filled(side: Side, values: Sequence[str]) -> None:
    """Accept rows that say which configuration was measured, and one time at least; DataError with the line of the first other."""
    for name in side.frame.columns.difference(list(values), sort=False):
        lacking = np.flatnonzero(side.frame[name].isna().to_numpy(bool))
        if len(lacking):
            hint = "Fill the cell; only a time that was not measured may be empty."
            got = f"got {_standing(side, int(lacking[0]), str(name))}, expected a value"
            raise DataError(got, place=_line(side, int(lacking[0]), str(name)), hint=hint)
    nothing = np.flatnonzero(side.frame[list(values)].isna().all(axis=1).to_numpy(bool))
    if len(nothing):
        got = f"got no measured time, expected one among {', '.join(values)}"
        raise DataError(got, place=_line(side, int(nothing[0]), values[0]), hint="Fill a cell, or remove the row.")


def check_settings(side: Side, counts: Sequence[str], others: Iterable[str]) -> None:
    """Accept counts that are whole numbers from 1 on, and other settings that are numbers; DataError with the line of another."""
    for name in (*counts, *(each for each in others if each not in counts)):
        if name not in side.frame:
            continue
        values = pd.to_numeric(side.frame[name], errors="coerce").to_numpy(float)
        right = np.isfinite(values) & ((name not in counts) | (values >= 1.0) & (values == np.floor(values)))
        if not right.all():
            row = int(np.argmin(right))
            got, expected = side.frame[name].tolist()[row], "a whole number >= 1" if name in counts else "a number"
            hint = number_hint(got) if isinstance(got, str) else WHOLE_HINT
            raise DataError(f"got {got!r}, expected {expected}", place=side.place(row, [name]), hint=hint)


def _standing(side: Side, row: int, column: str) -> str:
    """What stands in a cell without a value, as messages quote it: nothing, or a word for a missing value."""
    if side.path is None:
        return cell_text("")
    name = side.renamed.get(column, column)
    return cell_text(str(open_table(side.path).cells.texts([name])[name].iloc[row]))


def _line(side: Side, row: int, column: str) -> str:
    """Where an empty cell stands: rows with a value of another column that no other row has, are found by it."""
    # Times of another unit are not as they stand in the file.
    filled = [str(name) for name in side.frame if pd.notna(side.frame[name].iloc[row]) and not str(name).endswith("_s")]
    return side.place(row, filled or [column]).rpartition(", column ")[0] + f", column {side.renamed.get(column, column)}"


def in_seconds(side: Side, columns: Iterable[str]) -> Side:
    """The same rows with times of another unit, as their names tell, under the names of seconds that are among ``columns``."""
    frame, wanted, renamed = side.frame, set(columns), dict(side.renamed)
    for name in map(str, side.frame):
        ending = next((suffix for suffix in TIME_SUFFIXES[1:] if name.endswith(suffix)), "")
        plain = f"{name.removesuffix(ending)}{TIME_SUFFIXES[0]}"
        if ending and RATE not in name and name not in wanted and plain in wanted and plain not in frame:
            check_positive(side, name, gaps=True)
            frame = frame.assign(**{name: unit_ratio(name, plain) * frame[name].to_numpy(float)}).rename(columns={name: plain})
            renamed[plain] = renamed.pop(name, name)
    return replace(side, frame=frame, renamed=renamed)


def _observed_networks(side: Side, cnns: Sequence[CnnSpec]) -> tuple[list[CnnSpec], IntArray]:
    """Networks of the rows, and the number of each row's: those asked about by name, else shipped ones."""
    if "cnn" not in side.frame:
        if len(cnns) != 1:
            raise DataError(
                f"has no column cnn, expected one: {len(cnns)} networks are asked about", place=side.header_place("cnn")
            )
        return list(cnns), np.zeros(len(side.frame), np.int64)
    by_name = {each.name: each for each in cnns}
    names = [str(name) for name in pd.unique(side.frame["cnn"])]
    nets = [by_name[name] if name in by_name else _shipped(side, name) for name in names]
    number = {name: at for at, name in enumerate(names)}
    return nets, np.array([number[str(name)] for name in side.frame["cnn"]], dtype=np.int64)


def _shipped(side: Side, name: str) -> CnnSpec:
    """A network by its name in a row; DataError with the row's line where nobody knows it."""
    try:
        return find_cnn(name)
    except DataError as error:
        row = [str(each) for each in side.frame["cnn"]].index(name)
        raise DataError(error.message, place=side.place(row, ["cnn"]), hint=error.hint) from error


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRatios:
    """Measurements beside predictions, as `mlperf.models.uncertainty.log_factors.update_log_factors` takes them.

    Attributes
    ----------
    shares : array, shape (n_measurements, n_components)
        1 for the component that was measured; of an output, its change with each component, on logarithms.
    log_ratio : array, shape (n_measurements,)
        log(measured / predicted).
    column : array of int, shape (n_measurements,)
        Which column of the table a measurement is from.
    """

    shares: FloatArray
    log_ratio: FloatArray
    column: IntArray


def measured_ratios(
    rows: ObservedRows, names: Sequence[str], expected: Mapping[str, FloatArray], shares: Mapping[str, FloatArray]
) -> MeasuredRatios:
    """Set measurements beside predictions.

    Parameters
    ----------
    rows : ObservedRows
    names : sequence of str
        Components, in the order of the shares.
    expected : mapping of str to array, shape (n_rows,)
        By component or output that was measured; where 0 is expected, nothing can be learnt from a measurement,
        nor where none was made (NaN).
    shares : mapping of str to array, shape (n_rows, n_components)
        By output that was measured.
    """
    parts, ratios, columns = [], [], []
    for number, (name, measured) in enumerate(rows.measured.items()):
        own = shares[name] if name in shares else np.tile(np.eye(len(names))[list(names).index(name)], (len(measured), 1))
        predicted = np.broadcast_to(expected[name], measured.shape)
        told = (predicted > 0.0) & ~np.isnan(measured)
        parts.append(own[told])
        ratios.append(np.log(measured[told] / predicted[told]))
        columns.append(np.full(int(told.sum()), number, dtype=np.int64))
    return MeasuredRatios(np.vstack(parts), np.concatenate(ratios), np.concatenate(columns))
