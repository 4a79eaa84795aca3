"""Which table trains which system: one function from a file to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.core.provenance import provenance
from mlperf.datasets.campaigns.bundled import bundled_names
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.folder import OF_OTHER_FOLDERS, table_name
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.collectives.exchange_rows import COLUMNS as OF_EXCHANGES
from mlperf.training.collectives.train_exchange import train_exchange
from mlperf.training.systems.constants_model import ConstantsModel, train_constants
from mlperf.training.systems.parts_model import PartsModel, train_parts
from mlperf.training.systems.plain_names import KNOWN, RENAMED, renamed_notes, with_plain_names
from mlperf.training.systems.server_fit import WHOLE_TABLE, fit_servers
from mlperf.training.systems.server_model import ServerModel
from mlperf.training.systems.step_columns import check_batches
from mlperf.training.systems.step_terms import ALL as SYNCHRONOUS
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import train_system

SERVERS, EXCHANGE = "parameter-server", "exchange"
MODEL_PARALLEL, DATA_PARALLEL = "model-parallel", "data-parallel"
TRAINED = (*SYNCHRONOUS, SERVERS, MODEL_PARALLEL)
LABELS = ("cnn", "network", "model", "device", "operation")
"""Columns that name things even where the names look like numbers."""


def train_for_system(
    source: str | Path,
    system: str,
    *,
    component: str | None = None,
    target: str | None = None,
    groups: str | None = None,
    factors: Sequence[str] = (),
    apart: Sequence[str] = (),
    features: Sequence[str] = (),
    exchange: str | Path | None = None,
    latency_s: float | None = None,
    bytes_per_s: float | None = None,
    seed: int = 0,
) -> SystemFit | ServerModel | ExchangeModel | PartsModel | ConstantsModel:
    """Train a system, or its exchange, on a table of one's own runs; model parallelism on the constants of a machine.

    Parameters
    ----------
    source : str or Path
        A CSV file. Synchronous systems: one row a step (see `mlperf.training.systems.train_system.train_system`);
        ``parameter-server``: one row a speed (see `mlperf.training.systems.server_fit.fit_servers`). ``model-parallel``: the folder
        of ``mlperf collect canonical`` (see `mlperf.training.systems.constants_model.train_constants`).
    system : str
        One of `TRAINED`.
    component : {"exchange"}, optional
        Only that component: one row an exchange (see `mlperf.training.collectives.train_exchange.train_exchange`).
    target : str, optional
        Column of the time or speed, where it has another name.
    groups, factors, apart
        As of `train_system`; ``apart`` are the groups of `fit_servers`.
    features : sequence of str
        As of `fit_servers`.
    exchange : str or Path, optional
        ``data-parallel``: isolated exchanges beside runs whose parts were measured; parts are then fitted apart (see
        `mlperf.training.systems.parts_model.train_parts`).
    latency_s, bytes_per_s : float, optional
        ``model-parallel``: of the network, where it was not measured.
    seed : int
        Of folds.

    Raises
    ------
    UsageError
        A system that no table trains, or an option that the system does not know.
    DataError, FitError
        As those functions do.
    """
    if component not in (None, EXCHANGE):
        raise UsageError(f"got component {component!r}, expected {EXCHANGE!r}", hint="Others are trained with the whole step.")
    if system not in TRAINED:
        hint = "sprint is trained on a campaign: mlperf train CAMPAIGN; others are predicted from the model of one."
        raise UsageError(f"got system {system!r}, expected one of {', '.join(TRAINED)} to train on a table", hint=hint)
    own = {"groups": groups, "factors": factors, "apart": apart, "features": features, "target": target}
    if system == MODEL_PARALLEL:
        _refuse({**own, "component": component, "exchange": exchange}, system)
        return train_constants(source, latency_s=latency_s, bytes_per_s=bytes_per_s, seed=seed)
    _refuse({"latency": latency_s, "bandwidth": bytes_per_s}, system)
    if exchange is not None:
        if system != DATA_PARALLEL or component is not None:
            hint = "With --component exchange SOURCE itself holds the exchanges."
            raise UsageError(f"got exchange with {component or system}, expected {DATA_PARALLEL} and its steps", hint=hint)
        _refuse({name: value for name, value in own.items() if name != "apart"}, "a model of measured parts")
        return train_parts(source, exchange, apart=apart, seed=seed)
    labels = tuple(dict.fromkeys((*factors, *apart, *([groups] if groups else []))))
    check_file(source, system)
    read = read_any_table(source, others="keep", columns=list(labels), categorical=list(labels), duplicates="keep")
    known = (*KNOWN, *OF_EXCHANGES) if component == EXCHANGE else KNOWN
    rows = with_plain_names(read, (*labels, *features), str(source), target, known)
    target = rows.attrs[RENAMED].get(target, target)
    if component == EXCHANGE:
        _refuse({"groups": groups, "factors": factors, "apart": apart, "features": features}, "an exchange")
        model = train_exchange(rows, time=target, seed=seed)
        return replace(model, notes=(*model.notes, *renamed_notes(rows)))
    if system == SERVERS:
        _refuse({"groups": groups, "factors": factors}, system)
        told = provenance(data_sha256={str(source): rows.attrs.get("sha256", "")}, seed=seed)
        asked: dict[str, Any] = {"response": target, "groups": apart or None, "features": features, "provenance": told}
        asked["notes"] = renamed_notes(rows)
        return fit_speeds(source, rows, asked)
    _refuse({"features": features}, system)
    check_batches(rows, str(source))
    return train_system(rows, system, step=target, groups=groups, factors=factors, apart=apart, seed=seed, place=str(source))


def fit_speeds(source: str | Path, rows: pd.DataFrame, asked: Mapping[str, Any]) -> ServerModel:
    """Fit the rows of a file as `mlperf.training.systems.server_fit.fit_servers` does.

    Raises
    ------
    DataError, FitError
        As that function does, with the file named; of runs of ``mlperf collect ps`` also what takes them.
    """
    runs = "ps_runs"
    try:
        return fit_servers(rows, **asked)
    except (DataError, FitError) as error:
        place = str(source) if error.place in (None, WHOLE_TABLE) else f"{source}, {error.place}"
        hint = OF_OTHER_FOLDERS[runs].format(folder=Path(source).parent) if table_name(Path(source)) == runs else error.hint
        raise type(error)(error.message, place=place, hint=hint) from error


def check_file(source: str | Path, system: str) -> None:
    """Refuse a folder, or the name of a bundled campaign, where a table is expected.

    Raises
    ------
    DataError
        It is one; says what to do with it.
    """
    name, path = str(source), Path(source)
    bundled = name in bundled_names() and not path.exists()
    if not path.is_dir() and not bundled:
        return
    got = "the name of a bundled campaign" if bundled else "a folder"
    tables = () if bundled else sorted(each.name for each in path.glob("*.csv*"))
    table = f"Name one of its tables, such as {path / tables[0]}; or t" if tables else "T"
    hint = (
        f"{table}rain on it as a campaign (mlperf train {name} -o model.json) and ask its model: mlperf predict --system {system}."
    )
    raise DataError(f"got {got}, expected a table of measured steps", place=name, hint=hint)


def _refuse(options: dict[str, Any], what: str) -> None:
    for name, value in options.items():
        if value:
            raise UsageError(f"got {name}, which {what} does not know", hint="Leave it out.")
