"""A system's predictions beside measured rows of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.planning.compare import Comparison, beside, comparison
from mlperf.planning.inputs import machine_of
from mlperf.planning.limits import check_limits
from mlperf.planning.systems.predict import SystemOptions, predict_system_configurations
from mlperf.specs.machine import MachineSpec
from mlperf.specs.zoo.zoo import find_cnn
from mlperf.systems.base.system import System
from mlperf.systems.registry import system_of
from mlperf.training.model import Model

KEYS = ("cnn", "n_nodes", "n_gpus_per_node", "subbatch_size")


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
        A column is missing, or no output was measured.
    """
    found = system_of(system)
    place = "rows" if isinstance(rows, pd.DataFrame) else str(rows)
    frame = rows if isinstance(rows, pd.DataFrame) else read_any_table(rows, others="keep", columns=KEYS, categorical=("cnn",))
    missing = [name for name in KEYS if name not in frame]
    if missing:
        raise DataError(f"has no column {missing[0]!r}, expected {', '.join(KEYS)}", place=place)
    measured = [name for name in found.outputs if name in frame and (name != "epoch_s" or "dataset_size" in frame)]
    if not measured:
        outputs = ", ".join(found.outputs)
        hint = "An epoch needs dataset_size beside it." if "epoch_s" in frame else ""
        raise DataError(f"has no column with an output of {found.name!r}, expected one of {outputs}", place=place, hint=hint)
    names = list(dict.fromkeys(frame["cnn"]))
    cnns, spec = [find_cnn(name) for name in names], machine_of(machine)
    settings = {setting.name: setting.default for setting in found.settings}
    configs = pd.DataFrame(
        {
            "cnn": frame["cnn"].map({name: position for position, name in enumerate(names)}),
            **{name: frame[name].astype(int) for name in KEYS[1:]},
            "dataset_size": frame["dataset_size"].astype(int) if "dataset_size" in frame else 1,
            **{name: frame[name].astype(float) if name in frame else default for name, default in settings.items()},
        }
    ).reset_index(drop=True)
    check_limits(spec, cnns, configs)
    prediction = predict_system_configurations(model, found, cnns, spec, configs, SystemOptions(**options))
    parts = [
        beside(
            frame[list(KEYS)],
            (name, frame[name].to_numpy(float)),
            {"predicted": prediction.outputs[name]},
            prediction.prediction_interval[name],
            in_domain=prediction.in_domain[name],
            in_training=frame["cnn"].isin(model.cnns),
        )
        for name in measured
    ]
    return comparison(pd.concat(parts, ignore_index=True))
