"""A table of measured steps to a model of a synchronous system: `train_system`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.core.provenance import provenance
from mlperf.core.suggest import nearest, nearest_hint
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.notes import refuse_cells
from mlperf.datasets.reading.time_units import TIME_SUFFIXES, seconds_in
from mlperf.models.validation.folds import grouped_folds, leave_one_group_out
from mlperf.models.validation.scores import adjusted_r2
from mlperf.training.systems.cost_spread import CostSpread
from mlperf.training.systems.equal_costs import EqualCosts
from mlperf.training.systems.plain_names import renamed_notes, time_hint
from mlperf.training.systems.step_columns import (
    COLUMNS,
    check_batches,
    derived_columns,
    networks_of,
    shown,
    step_columns,
    where,
)
from mlperf.training.systems.step_design import coded, design_matrix, part_labels
from mlperf.training.systems.step_fit import (
    METHODS,
    chosen_method,
    fit_apart,
    left_out_ratios,
    ratio_error,
    ratio_errors,
    relative_costs,
)
from mlperf.training.systems.step_terms import ALL, StepTerm, terms_of
from mlperf.training.systems.system_fit import SystemFit

N_FOLDS = 10
MOST_ALONE = 40
"""Rows, or groups, up to which each is left out by itself."""

LEAST_ROWS = 3
AGREES = 0.01
"""Relative difference of two columns of one time that is rounding."""
STEP_HINT = "Call the column so; mlperf train takes another name, which ends in its unit, as --target NAME."
LEAST_COUNTS, LEAST_NETWORKS = 3, 3
PERFECT, CONSTANT, PAPER = "perfect scaling", "constant efficiency", "(a log2 N + b) S of the SPRINT paper"
WORK_COLUMNS = ("work", "tokens")


@dataclass(frozen=True, slots=True, eq=False)
class StepRows:
    """Rows to train on: seconds, columns, design, parts, networks (what tells each, and the number of each row), folds."""

    rows: pd.DataFrame
    seconds: FloatArray
    columns: Mapping[str, FloatArray]
    derived: Mapping[str, FloatArray]
    terms: tuple[StepTerm, ...]
    design: FloatArray
    part: IntArray
    networks: tuple[tuple[float, ...], ...]
    network: IntArray
    folds: tuple[BoolArray, ...]
    largest: tuple[BoolArray, ...]
    network_folds: tuple[BoolArray, ...]


def train_system(
    table: pd.DataFrame | str | Path,
    system: str = "data-parallel",
    *,
    step: str | None = None,
    groups: str | None = None,
    factors: Sequence[str] = (),
    apart: Sequence[str] = (),
    seed: int = 0,
    place: str = "",
) -> SystemFit:
    """Fit the steps of a synchronous system.

    Costs of physical terms, never negative, with the least relative errors. All terms that the table tells apart are offered, and
    share what its rows hardly tell, by least squares; where fewer, chosen by AIC, or a robust loss err less on left-out rows, by
    more than a standard error, those are taken.

    Parameters
    ----------
    table : DataFrame, str or Path
        One row a measured step: ``step_s`` (or ``step_ms``, ...), ``n_gpus`` (or ``n_nodes`` and ``n_gpus_per_node``),
        ``subbatch_size`` or ``minibatch_size``, and what is known of `mlperf.training.systems.step_columns.COLUMNS`.
    system : {"data-parallel", "fully-sharded", "pipeline"}
        Whose terms are offered.
    step : str, optional
        Column of the time, where it has another name; its ending gives the unit.
    groups : str, optional
        Column whose equal values are left out together and count as one in the standard error; by default rows are left out by
        themselves, ten folds of more than 40.
    factors : sequence of str
        Columns (a device) whose levels have own costs of work; levels of several add.
    apart : sequence of str
        Columns (a network on a machine) whose levels are fitted by themselves.
    seed : int
        Of the folds.
    place : str
        What a frame is called in messages; a file is called by its path.

    Raises
    ------
    DataError
        A column is missing, a number is not above zero, or two columns of the time contradict each other.
    UsageError
        No such system.
    FitError
        Fewer than three rows.

    References
    ----------
    Lawson and Hanson (1974) for non-negative least squares; Vovk et al. (2005) for the intervals of left-out rows.
    """
    if system not in ALL:
        raise UsageError(f"got system {system!r}, expected one of {', '.join(ALL)}", hint=nearest_hint(system, ALL))
    place = place or ("rows" if isinstance(table, pd.DataFrame) else str(table))
    rows = table if isinstance(table, pd.DataFrame) else read_rows(table, (*factors, *apart, *([groups] if groups else [])))
    name = step_column(rows, step, place)
    seconds = checked_seconds(rows, name, place)
    if len(rows) < LEAST_ROWS:
        got = f"got {len(rows)} rows, expected at least {LEAST_ROWS}"
        raise FitError(got, place=place, hint="Measure more sizes or more GPUs.")
    columns = step_columns(rows, place)
    if not isinstance(table, pd.DataFrame):
        check_batches(rows, place)
    derived = derived_columns(columns)
    terms, left = terms_of(system, derived)
    if not terms:
        raise FitError(f"the rows tell no term of the system {system!r}", hint="Give GPUs, batch and, if known, n_params.")
    levels = {factor: tuple(sorted(map(str, rows[factor].unique()))) for factor in factors}
    labels = part_labels(rows, apart)
    parts = tuple(dict.fromkeys(labels))
    design, _ = design_matrix(terms, derived, rows, factors, levels)
    part = coded(labels, parts, ", ".join(apart))
    networks, network = numbered_networks(columns)
    data = StepRows(
        rows,
        seconds,
        columns,
        derived,
        terms,
        design,
        part,
        networks,
        network,
        row_folds(rows, groups, seed),
        largest_counts(columns, part),
        folds_of(network, seed) if len(networks) >= LEAST_NETWORKS else (),
    )
    return _fitted(data, system, parts, levels, tuple(factors), tuple(apart), groups, left)


def numbers_of(rows: pd.DataFrame, name: str) -> FloatArray:
    """A column as numbers; NaN where a cell is none."""
    return pd.to_numeric(rows[name], errors="coerce").to_numpy(np.float64)


def seconds_of(rows: pd.DataFrame, name: str) -> FloatArray:
    """A column of times in seconds, as its name tells the unit; NaN where a cell is no number."""
    return np.asarray((seconds_in(name) or 1.0) * numbers_of(rows, name))


def checked_seconds(rows: pd.DataFrame, name: str, place: str) -> FloatArray:
    """A column of times in seconds, each above 0.

    Raises
    ------
    DataError
        Names the first cell that is no such time.
    """
    seconds = seconds_of(rows, name)
    wrong = np.flatnonzero(~(np.isfinite(seconds) & (seconds > 0.0)))
    if len(wrong):
        row, expected = int(wrong[0]), "a time above 0"
        if np.isnan(seconds[row]):
            refuse_cells(rows, name, expected, place)
        at = f"{place}, {where(rows, row)}, column {name}"
        got = f"got {shown(rows, name, row)}, expected {expected}"
        raise DataError(got, place=at, hint="Take out rows that were not measured.")
    return seconds


def read_rows(path: str | Path, labels: Sequence[str]) -> pd.DataFrame:
    """A table of steps from a file; labels stay text."""
    return read_any_table(path, others="keep", columns=list(labels), categorical=list(labels), duplicates="keep")


def step_column(rows: pd.DataFrame, step: str | None, place: str) -> str:
    """Name of the column with the time of a step.

    Raises
    ------
    DataError
        There is none, or its name does not end in a unit.
    """
    names = [step] if step else [f"step{end}" for end in TIME_SUFFIXES]
    found = [name for name in names if name in rows]
    if not found:
        expected = "the time of a step" if step else f"the time of a step: step{', step'.join(TIME_SUFFIXES)}"
        hint = STEP_HINT if step else time_hint(rows) or STEP_HINT
        raise DataError(f"has no column {names[0]!r}, expected {expected}", place=place, hint=hint)
    if not found[0].endswith(TIME_SUFFIXES) or seconds_in(found[0]) is None:
        hint = "Rename it, as in step_ms; of a rate, write the seconds of a step."
        raise DataError(f"got the column {found[0]!r}, expected a unit at its end: _s, _ms, _us or _ns", place=place, hint=hint)
    for other in found[1:]:
        first, second = (seconds_of(rows, name) for name in (found[0], other))
        apart = np.flatnonzero(np.abs(second - first) > AGREES * np.abs(first))
        if len(apart):
            row = int(apart[0])
            got = f"got {rows[other].iloc[row]}, but {rows[found[0]].iloc[row]} in column {found[0]}: expected one time of a step"
            raise DataError(
                got, place=f"{place}, {where(rows, row)}, column {other}", hint=f"Name the right one: --target {found[0]}."
            )
    return found[0]


def row_folds(rows: pd.DataFrame, groups: str | None, seed: int) -> tuple[BoolArray, ...]:
    """Rows that are left out together: groups, or single rows; ten folds of many."""
    return folds_of(rows[groups].astype(str).to_numpy() if groups else np.arange(len(rows)), seed)


def folds_of(keys: NDArray[Any], seed: int) -> tuple[BoolArray, ...]:
    """Rows of equal keys, left out together; ten folds of many keys."""
    alone = len(np.unique(keys)) <= MOST_ALONE
    folds = leave_one_group_out(keys) if alone else grouped_folds(keys, N_FOLDS, seed)
    return tuple(np.isin(np.arange(len(keys)), fold.test) for fold in folds)


def largest_counts(columns: Mapping[str, FloatArray], part: IntArray) -> tuple[BoolArray, ...]:
    """The rows with the most GPUs of every part, left out together; nothing where there are fewer than three counts."""
    out = np.zeros(len(part), bool)
    for number in np.unique(part):
        own = part == number
        counts = np.unique(columns["n_gpus"][own])
        if len(counts) >= LEAST_COUNTS:
            out |= own & (columns["n_gpus"] == counts[-1])
    return (out,) if out.any() else ()


def numbered_networks(columns: Mapping[str, FloatArray]) -> tuple[tuple[tuple[float, ...], ...], IntArray]:
    """What tells each network, and the number of each row's among them; nothing where no column tells networks."""
    found = networks_of(columns)
    places = {name: place for place, name in enumerate(dict.fromkeys(found))}
    return tuple(places), np.array([places[name] for name in found], int)


def errors_of_networks(data: StepRows, method: str) -> FloatArray:
    """Root mean square of log(measured / predicted) of each network when it is left out; empty of fewer than three."""
    n_networks = len(data.networks)
    if not data.network_folds:
        return np.empty(0)
    ratios = left_out_ratios(METHODS[method], data.design, data.seconds, data.part, data.network_folds)
    known = np.isfinite(ratios)
    count = np.bincount(data.network[known], minlength=n_networks)
    squares = np.bincount(data.network[known], np.square(ratios[known]), n_networks)
    return np.sqrt(squares[count > 0] / count[count > 0])


def _fitted(
    data: StepRows,
    system: str,
    parts: tuple[str, ...],
    levels: Mapping[str, tuple[str, ...]],
    factors: tuple[str, ...],
    apart: tuple[str, ...],
    groups: str | None,
    left: Mapping[str, str],
) -> SystemFit:
    ratios = {name: left_out_ratios(fit, data.design, data.seconds, data.part, data.folds) for name, fit in METHODS.items()}
    errors = {name: ratio_error(each) for name, each in ratios.items()}
    method = chosen_method(ratios, pd.factorize(data.rows[groups].astype(str))[0] if groups else None)
    costs = fit_apart(METHODS[method], data.design, data.seconds, data.part, len(parts))
    fitted = np.sum(data.design * costs[data.part], axis=1)
    far = left_out_ratios(METHODS[method], data.design, data.seconds, data.part, data.largest)
    own = ratio_errors(ratios[method][np.isfinite(ratios[method])])
    bounded = {name: values for name, values in data.columns.items() if name in COLUMNS}
    return SystemFit(
        system=system,
        terms=tuple(term.column for term in data.terms),
        factors=factors,
        apart=apart,
        levels=levels,
        parts=parts,
        costs=costs,
        method=method,
        rules=rule_table(data, method, errors, far),
        r2_adj=adjusted_r2(fitted, data.seconds, int(np.count_nonzero(costs))),
        errors={
            "mape": float(own.mean()) if own.size else float("nan"),
            "median": float(np.median(own)) if own.size else float("nan"),
            "q3": float(np.quantile(own, 0.75)) if own.size else float("nan"),
            "max": float(own.max()) if own.size else float("nan"),
        },
        log_ratios=ratios[method],
        log_ratios_of_counts=far[np.isfinite(far)],
        networks=data.networks,
        errors_of_networks=errors_of_networks(data, method),
        spread=CostSpread.of(data.design, data.seconds, costs, data.part),
        equal=EqualCosts.of(data.design, data.seconds, costs, data.part),
        bounds={name: (float(values.min()), float(values.max())) for name, values in bounded.items()},
        groups=groups,
        left_out=left,
        n_rows=len(data.seconds),
        notes=notes_of(data),
        provenance=provenance(data_sha256={"rows": data.rows.attrs.get("sha256", "")}),
    )


def notes_of(data: StepRows) -> tuple[str, ...]:
    """What the rows leave open."""
    one_machine = not {"n_nodes", "n_gpus_per_node"} & set(data.rows.columns)
    others = [str(name) for name in data.rows.columns if name not in COLUMNS]
    meant = nearest("n_gpus_per_node", others) or nearest("n_nodes", others)
    unread = f" (column {meant} is not read)" if meant else ""
    notes = (
        (not data.largest, "fewer than three counts of GPUs: how steps grow with more of them is physics, not measured"),
        (
            0 < len(data.networks) < LEAST_NETWORKS,
            "fewer than three networks: how far another one is missed is not measured, and no interval tells it",
        ),
        (one_machine, f"no column n_nodes or n_gpus_per_node{unread}: all GPUs of a row count as those of one machine"),
    )
    return (*(note for holds, note in notes if holds), *renamed_notes(data.rows))


def rule_table(data: StepRows, method: str, errors: Mapping[str, float], far: FloatArray) -> pd.DataFrame:
    """The model and the rules of thumb with their left-out errors, the model first."""
    rows = [
        {"rule": f"physical terms, {method}", "error": errors[method], "error_of_counts": ratio_error(far), "verdict": "chosen"}
    ]
    rows += [
        {
            "rule": f"physical terms, {name}",
            "error": error,
            "error_of_counts": ratio_error(left_out_ratios(METHODS[name], data.design, data.seconds, data.part, data.largest)),
            "verdict": "not better",
        }
        for name, error in errors.items()
        if name != method
    ]
    for name, ratios in thumb_ratios(data, data.folds).items():
        error, of_counts = ratio_error(ratios), ratio_error(thumb_ratios(data, data.largest)[name])
        verdict = "rejected" if not error < errors[method] else "as good"
        rows.append({"rule": name, "error": error, "error_of_counts": of_counts, "verdict": verdict})
    return pd.DataFrame(rows)


def thumb_ratios(data: StepRows, folds: Sequence[BoolArray]) -> dict[str, FloatArray]:
    """log(measured / predicted) of rows left out, by rule of thumb.

    Perfect scaling: a GPU does its work as fast as with the fewest GPUs; constant efficiency: as with the most that were measured;
    the SPRINT paper's: work and (a log2 N + b) S.
    """
    work = next(data.derived[name] for name in WORK_COLUMNS if name in data.derived)
    volume = data.columns.get("n_params", np.ones(len(work)))
    paper = np.column_stack([work, volume * np.log2(data.columns["n_gpus"]), volume])
    found = {name: np.full(len(work), np.nan) for name in (PERFECT, CONSTANT)}
    n_parts = int(data.part.max()) + 1
    for out in folds:
        for number in range(n_parts):
            known, asked = (data.part == number) & ~out, (data.part == number) & out
            if not known.any() or not asked.any():
                continue
            counts = data.columns["n_gpus"][known]
            pace = data.seconds[known] / work[known]
            for name, count in ((PERFECT, counts.min()), (CONSTANT, counts.max())):
                found[name][asked] = np.log(data.seconds[asked] / (np.median(pace[counts == count]) * work[asked]))
    found[PAPER] = left_out_ratios(relative_costs, paper, data.seconds, data.part, folds)
    return found
