"""A system's predictions beside measured rows of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.foreign import open_table
from mlperf.datasets.reading.notes import refuse_cells
from mlperf.datasets.reading.time_units import TIME_SUFFIXES, plain_name, unit_ratio
from mlperf.planning.compare import Comparison, beside, comparison
from mlperf.planning.inputs import machine_of
from mlperf.planning.limits import check_limits
from mlperf.planning.systems.predict import SystemOptions, predict_system_configurations
from mlperf.specs.machine import MachineSpec
from mlperf.specs.zoo.zoo import find_cnn
from mlperf.systems.base.system import System
from mlperf.systems.registry import system_of
from mlperf.training.model import Model
from mlperf.training.systems.plain_names import with_plain_names
from mlperf.training.systems.step_columns import shown, where

KEYS = ("cnn", "n_nodes", "n_gpus_per_node", "subbatch_size")
SAMPLES = "dataset_size"


def compare_system(
    model: Model, system: System | str, rows: pd.DataFrame | str | Path, machine: MachineSpec | str | Path, **options: Any
) -> Comparison:
    """Set a system's outputs beside measured ones.

    Parameters
    ----------
    model : Model
        Of a campaign.
    system : System or str
        As of `mlperf.predict_system`.
    rows : DataFrame, str or Path
        One row a measured run: ``cnn`` (name or file), ``n_nodes, n_gpus_per_node, subbatch_size``, settings of the system where
        they are not the default, ``dataset_size`` where the time of an epoch is compared, and at least one output.
    machine : MachineSpec, str or Path
        Where the runs were made.
    **options
        Of `mlperf.planning.systems.predict.SystemOptions`.

    Raises
    ------
    DataError
        A column is missing, no output was measured, or a cell is not what it should be: names its line.
    """
    found = system_of(system)
    place = "rows" if isinstance(rows, pd.DataFrame) else str(rows)
    settings = {setting.name: setting.default for setting in found.settings}
    frame = rows if isinstance(rows, pd.DataFrame) else read_runs(rows, (*found.outputs, *settings))
    missing = [name for name in KEYS if name not in frame]
    if missing:
        raise DataError(f"has no column {missing[0]!r}, expected {', '.join(KEYS)}", place=place)
    measured = [name for name in found.outputs if name in frame and (name != "epoch_s" or SAMPLES in frame)]
    if not measured:
        outputs = ", ".join(found.outputs)
        hint = "An epoch needs dataset_size beside it." if "epoch_s" in frame else ""
        raise DataError(f"has no column with an output of {found.name!r}, expected one of {outputs}", place=place, hint=hint)
    names = list(dict.fromkeys(frame["cnn"]))
    cnns, spec = [find_cnn(name) for name in names], machine_of(machine)
    counts = [name for name in (*KEYS[1:], SAMPLES) if name in frame]
    given: dict[str, Any] = {name: checked(frame, name, place, "a whole number >= 1").astype(np.int64) for name in counts}
    given |= {name: checked(frame, name, place, "a number") for name in settings if name in frame}
    seconds = {name: checked(frame, name, place, "a number > 0") for name in measured}
    number = frame["cnn"].map({name: position for position, name in enumerate(names)}).to_numpy()
    configs = pd.DataFrame({"cnn": number, SAMPLES: 1, **settings, **given})
    check_limits(spec, cnns, configs)
    prediction = predict_system_configurations(model, found, cnns, spec, configs, SystemOptions(**options))
    parts = [
        beside(
            frame[list(KEYS)],
            (name, seconds[name]),
            {"predicted": prediction.outputs[name]},
            prediction.prediction_interval[name],
            in_domain=prediction.in_domain[name],
            in_training=frame["cnn"].isin(model.cnns),
        )
        for name in measured
    ]
    return comparison(pd.concat(parts, ignore_index=True))


def read_runs(path: str | Path, further: Sequence[str]) -> pd.DataFrame:
    """Runs of a file under the names that are known, with times in seconds; ``further`` are names of outputs and settings."""
    table = open_table(path)
    labels = [name for name in table.header if plain_name(name) == KEYS[0]]
    read = read_any_table(table, others="keep", columns=labels, categorical=labels)
    times = {
        f"{name.removesuffix(TIME_SUFFIXES[0])}{end}": name for name in further if name.endswith("_s") for end in TIME_SUFFIXES
    }
    known = {**times, **{name: name for name in (*KEYS, SAMPLES, *further)}}
    frame = with_plain_names(read, (), str(path), known=tuple(known))
    for name, plain in known.items():
        if name in frame and plain not in frame:
            seconds = checked(frame, name, str(path), "a number") * unit_ratio(name, plain)
            frame = frame.assign(**{name: seconds}).rename(columns={name: plain})
    return frame


def checked(frame: pd.DataFrame, name: str, place: str, expected: str) -> FloatArray:
    """A column of numbers, shape (n_rows,).

    Raises
    ------
    DataError
        Names the first cell that is not what was expected.
    """
    values = pd.to_numeric(frame[name], errors="coerce").to_numpy(float)
    right = np.isfinite(values) & ((values > 0.0) | (expected == "a number"))
    is_count = "whole" in expected
    wrong = np.flatnonzero(~(right & ((values == np.floor(values)) | (not is_count))))
    if len(wrong):
        row = int(wrong[0])
        if np.isnan(values[row]):
            refuse_cells(frame, name, expected, place)
        raise DataError(f"got {shown(frame, name, row)}, expected {expected}", place=f"{place}, {where(frame, row)}, column {name}")
    return np.asarray(values)
