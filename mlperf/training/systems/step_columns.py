"""What a row of a table of steps says of the work, the volumes and the layout behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest
from mlperf.datasets.reading.notes import refuse_cells

OPTIONAL = {
    "accumulation": 1.0,
    "tensor_parallel": 1.0,
    "pipeline_parallel": 1.0,
    "sequence_length": 1.0,
    "recomputed": 0.0,
    "zero_stage": 0.0,
}
"""Columns with the value that they have where a table does not hold them."""

NETWORK = ("n_params", "n_layers", "width", "n_flops")
"""Columns of the network; terms that need one are left out without it."""

COLUMNS = ("n_gpus", "n_nodes", "n_gpus_per_node", "subbatch_size", "minibatch_size", *OPTIONAL, *NETWORK)
"""Every column that terms are made of."""

WHOLE = ("n_gpus", "n_nodes", "n_gpus_per_node", "accumulation", "tensor_parallel", "pipeline_parallel")
"""Those that count things."""


LAYOUT_HINT = "n_gpus are all GPUs of the run, subbatch_size is of one GPU, minibatch_size of all. A column may be left out."


def where(rows: pd.DataFrame, row: int) -> str:
    """Line of a row (from 0) in the file that the rows were read from, where each stands on a line; else its number from 1."""
    first = rows.attrs.get("first_line")
    return f"row {row + 1}" if first is None else f"line {first + row}"


def shown(rows: pd.DataFrame, name: str, row: int) -> str:
    """A cell as messages quote it."""
    value = rows[name].iloc[row]
    return "an empty cell" if pd.isna(value) or value == "" else str(value)


def step_columns(rows: pd.DataFrame, place: str = "rows") -> dict[str, FloatArray]:
    """Columns of `COLUMNS`, those that are left out worked out from the others; shape (n_rows,) each.

    Parameters
    ----------
    rows : DataFrame
        ``n_gpus``, or ``n_nodes`` and ``n_gpus_per_node``; ``subbatch_size`` (samples or sequences of a micro-batch) or
        ``minibatch_size`` (of a step, all GPUs); further columns of `COLUMNS`.
    place : str
        What the rows are called in messages.

    Raises
    ------
    DataError
        Neither GPUs nor batch can be worked out, a number is not above zero, or columns contradict one another.
    """
    found = {name: _numbers(rows, name, place) for name in COLUMNS if name in rows}
    ones = np.ones(len(rows))
    for name, value in OPTIONAL.items():
        found.setdefault(name, value * ones)
    _complete_gpus(found, list(map(str, rows)), place)
    parts = found["tensor_parallel"] * found["pipeline_parallel"]
    found["data_parallel"] = found["n_gpus"] / parts
    if "minibatch_size" not in found and "subbatch_size" not in found:
        meant = next((name for name in map(str, rows) if "batch" in name.lower()), None)
        hint = f"Call {meant!r} so where it is of one GPU (subbatch_size) or of all (minibatch_size)." if meant else LAYOUT_HINT
        raise DataError("has neither a column subbatch_size nor minibatch_size, expected one", place=place, hint=hint)
    if "minibatch_size" not in found:
        found["minibatch_size"] = found["subbatch_size"] * found["accumulation"] * found["data_parallel"]
    elif "subbatch_size" not in found:
        found["subbatch_size"] = found["minibatch_size"] / found["accumulation"] / found["data_parallel"]
    elif "accumulation" not in rows:
        found["accumulation"] = found["minibatch_size"] / found["subbatch_size"] / found["data_parallel"]
    _check_layout(found, rows, place)
    return found


def _check_layout(found: Mapping[str, FloatArray], rows: pd.DataFrame, place: str) -> None:
    """Refuse rows whose columns contradict one another, or that no layout has; raises DataError with row, column and value."""
    c = found
    rules = (
        ("n_nodes", c["n_nodes"] > c["n_gpus"], "at most n_gpus machines"),
        ("n_gpus", c["n_gpus"] > c["n_nodes"] * c["n_gpus_per_node"], "at most n_nodes x n_gpus_per_node"),
        ("n_gpus", c["data_parallel"] % 1.0 != 0.0, "a multiple of tensor_parallel x pipeline_parallel"),
        ("recomputed", c["recomputed"] > 1.0, "a share from 0 to 1"),
        ("zero_stage", ~np.isin(c["zero_stage"], (0.0, 1.0, 2.0, 3.0)), "0, 1, 2 or 3"),
    )
    for name, wrong, expected in rules:
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            value = rows[name].iloc[row] if name in rows else f"{found[name][row]:g}"
            raise DataError(
                f"got {value}, expected {expected}", place=f"{place}, {where(rows, row)}, column {name}", hint=LAYOUT_HINT
            )


def check_batches(rows: pd.DataFrame, place: str = "rows") -> None:
    """Check that the samples of one GPU and those of all agree, where rows give both.

    Tables that others published hold rows where they do not; whoever reads a table of a user's own calls this.

    Raises
    ------
    DataError
        Names the first row whose ``minibatch_size`` is another one, and what was expected.
    """
    c = step_columns(rows, place)
    parts = np.maximum(c["accumulation"], 1.0) * c["data_parallel"]
    # Where a mini-batch cannot be shared evenly, the largest share is less than a sample away from the mean.
    apart = np.abs(c["minibatch_size"] / parts - c["subbatch_size"]) >= 1.0
    if apart.any():
        row = int(np.argmax(apart))
        samples = "subbatch_size x accumulation x n_gpus / (tensor_parallel x pipeline_parallel), of all GPUs in a step"
        got = f"got {c['minibatch_size'][row]:g}, expected {(c['subbatch_size'] * parts)[row]:g}: {samples}"
        raise DataError(got, place=f"{place}, {where(rows, row)}, column minibatch_size", hint=LAYOUT_HINT)


def _complete_gpus(found: dict[str, FloatArray], names: Sequence[str], place: str) -> None:
    if "n_gpus" not in found:
        if "n_nodes" not in found or "n_gpus_per_node" not in found:
            meant = nearest("n_gpus", (name for name in names if name not in COLUMNS))
            hint = LAYOUT_HINT if meant is None else f"Call {meant!r} n_gpus where it counts all GPUs of the run. {LAYOUT_HINT}"
            raise DataError("has no column n_gpus, expected it, or n_nodes and n_gpus_per_node", place=place, hint=hint)
        found["n_gpus"] = found["n_nodes"] * found["n_gpus_per_node"]
    if "n_nodes" not in found:
        local = found.get("n_gpus_per_node", found["n_gpus"])
        found["n_nodes"] = np.maximum(np.ceil(found["n_gpus"] / local), 1.0)
    found.setdefault("n_gpus_per_node", found["n_gpus"] / found["n_nodes"])


def _numbers(rows: pd.DataFrame, name: str, place: str) -> FloatArray:
    column = rows[name]
    if column.dtype == bool or set(map(str, column.unique())) <= {"True", "False"}:
        column = column.astype(str).eq("True").astype(float)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    least = OPTIONAL.get(name, 1.0)
    wrong = ~(np.isfinite(numbers) & ((numbers >= 0.0) if least == 0.0 else (numbers > 0.0)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        expected = f"a number {'of at least' if least == 0.0 else 'above'} 0"
        if np.isnan(numbers[row]):
            refuse_cells(rows, name, expected, place)
        raise DataError(
            f"got {shown(rows, name, row)}, expected {expected}",
            place=f"{place}, {where(rows, row)}, column {name}",
        )
    broken = np.flatnonzero(numbers != np.rint(numbers))
    if len(broken) and name in WHOLE:
        row = int(broken[0])
        raise DataError(f"got {rows[name].iloc[row]}, expected a whole number", place=f"{place}, {where(rows, row)}, column {name}")
    return numbers


def networks_of(columns: Mapping[str, FloatArray]) -> tuple[tuple[float, ...], ...]:
    """What tells the network of each row, one tuple a row: layers and width, else parameters or operations; empty where none does.

    Parameters of one network differ a little by its input (positions of a sequence), so layers and width come first.
    """
    if {"n_layers", "width"} <= columns.keys():
        names = ["n_layers", "width"]
    else:
        names = [name for name in ("n_params", "n_flops") if name in columns][:1]
    if not names:
        return ()
    return tuple(tuple(row) for row in np.column_stack([columns[name] for name in names]).tolist())


@cache
def needed_for(name: str) -> str:
    """Columns without which the derived column ``name`` cannot be worked out: ``"n_params"``; empty where every table has them."""
    plain = {each: np.ones(1) for each in COLUMNS if each not in NETWORK} | {"data_parallel": np.ones(1)}
    wanted = ((), ("n_params",), ("n_layers", "width"))
    return next((" and ".join(each) for each in wanted if name in derived_columns(plain | dict.fromkeys(each, np.ones(1)))), "")


def derived_columns(columns: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Work and volumes of one GPU and step that terms are made of; only those whose columns there are.

    Notes
    -----
    ``tokens`` are samples where there is no sequence. 6 P operations a token forward and backward and 12 L h s of attention
    (Narayanan et al., 2021); a ring moves 2 (d - 1) / d of a vector, a gather (d - 1) / d (Patarasuk and Yuan, 2009); the
    ``bubble`` of a pipeline, which fills and drains, is (p - 1) / m of the passes of its micro-batches (Huang et al., GPipe, 2019).
    """
    c = columns
    t, p, d, m = c["tensor_parallel"], c["pipeline_parallel"], c["data_parallel"], c["accumulation"]
    across, wide = c["n_nodes"] > 1.0, t > c["n_gpus_per_node"]
    tokens = c["minibatch_size"] * c["sequence_length"] / c["n_gpus"]
    ring = (d - 1.0) / d
    found = {
        "tokens": tokens,
        "steps": np.ones_like(t),
        "micro_steps": m,
        "bubble": (p - 1.0) / m,
        "gpus_inside": np.log2(np.minimum(c["n_gpus"], c["n_gpus_per_node"])),
        "ring_gpus": (c["n_gpus"] - 1.0) / c["n_gpus"],
        "across": across.astype(float),
        "log2_nodes": np.log2(c["n_nodes"]),
    }
    if "n_params" in c:
        own = c["n_params"] / (t * p)
        work = 6.0 * c["n_params"] * tokens
        found |= {
            "work": work,
            "work_again": work * c["recomputed"],
            "sharded_params": m * own * ring,
            "sharded_across": m * own * across,
            "sharded_log2": m * own * np.log2(c["n_gpus"]),
            "gradients_inside": own * ring * ~across,
            "gradients_across": own * ring * across,
            "gradients_log2": own * np.log2(d) * across,
            "gradients_zero": own * ring * (c["zero_stage"] > 0.0),
            "own_params": own,
        }
    if "n_flops" in c:
        found |= {"work": c["n_flops"] * tokens, "work_again": c["n_flops"] * tokens * c["recomputed"]}
    if {"n_layers", "width"} <= c.keys():
        found |= _layered(c, tokens, wide)
    return found


def _layered(c: Mapping[str, FloatArray], tokens: FloatArray, wide: BoolArray) -> dict[str, FloatArray]:
    """What needs layers and width: attention, sums over tensor groups, messages between stages, launches."""
    t, p, m = c["tensor_parallel"], c["pipeline_parallel"], c["accumulation"]
    attention = 12.0 * c["n_layers"] * c["width"] * c["sequence_length"] * tokens
    whole = tokens * t * p
    sums = c["n_layers"] / p * whole * c["width"] * (t - 1.0) / t
    narrow = (t > 1.0) & ~wide
    return {
        "attention": attention,
        "attention_again": attention * c["recomputed"],
        "tensor_inside": sums * narrow,
        "tensor_across": sums * wide,
        "tensor_calls_inside": m * c["n_layers"] / p * narrow,
        "tensor_calls_across": m * c["n_layers"] / p * wide,
        "sent": whole * c["width"] * (p > 1.0) / t,
        "sends": m * (p > 1.0),
        "activations": tokens * c["width"] * c["n_layers"],
        "launches": m * c["n_layers"] / p,
    }
