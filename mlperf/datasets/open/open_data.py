"""Reading of the open data in place, from the folder that ``MLPERF_SHARED_DATA`` names; no row of them ships."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.open.open_catalogue import OPEN_DATA, OpenTable
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.folder import SUFFIXES

VARIABLE = "MLPERF_SHARED_DATA"
FLOAT_BYTES = 4
TIME_COLUMN = re.compile(r"(?P<stem>.+)_(?P<unit>ms|us)(?P<rest>_.+)?")
TIME_UNITS = {"ms": 1e-3, "us": 1e-6}
LABELS = {("deepbench", "specs"): ("value",), ("cnn_benchmarks", "forward_backward"): ("cudnn",)}
"""Columns in which some labels look like numbers."""
SHAPE = r"^(?P<samples>\d+)x(?P<maps>\d+)x(?P<height>\d+)x(?P<width>\d+)$"


def open_names() -> tuple[str, ...]:
    """Names of the open data sets."""
    return tuple(OPEN_DATA)


def open_tables(name: str) -> tuple[OpenTable, ...]:
    """Tables of one data set.

    Raises
    ------
    UsageError
        No data set of that name.
    """
    if name not in OPEN_DATA:
        raise UsageError(f"got open data {name!r}, expected one of {', '.join(OPEN_DATA)}", hint=did_you_mean(name, OPEN_DATA))
    return OPEN_DATA[name]


def data_folder() -> Path | None:
    """The folder of the open data; None where nobody has said it."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def read_open(name: str, table: str, folder: Path | str | None = None) -> pd.DataFrame:
    """Read one table of the open data.

    Parameters
    ----------
    name : str
        Data set: ``"neusight"``; ``open_names`` lists them.
    table : str
        Table: ``"linear"``; ``open_tables`` lists them with the meaning of a row.
    folder : path, optional
        Folder that holds the data sets; by default the one that ``MLPERF_SHARED_DATA`` names.

    Returns
    -------
    DataFrame
        Rows in file order, none left out; times in seconds (``*_s``), project names where they apply (``subbatch_size``,
        ``maps_in``, ``maps_out``, ``filter_size``, ``cnn``, ``n_gpus``); missing cells are NaN.

    Raises
    ------
    UsageError
        No such data set or table.
    DataError
        The folder is not known, the file is missing or damaged, or a cell is of another kind than the rest of its column.
    """
    described = {one.name: one for one in open_tables(name)}
    if table not in described:
        raise UsageError(
            f"got table {table!r} of {name}, expected one of {', '.join(described)}", hint=did_you_mean(table, described)
        )
    labels = LABELS.get((name, table), ())
    frame = read_typed_table(open_file(name, table, folder), labels=labels).frame
    frame = in_seconds(frame.replace("", np.nan)).rename(columns=dict(described[table].renamed))
    addition = ADDITIONS.get((name, table))
    return frame if addition is None else addition(frame)


def open_file(name: str, table: str, folder: Path | str | None) -> Path:
    """Path of a table.

    Raises
    ------
    DataError
        The folder is not known or has no such file.
    """
    home = data_folder() if folder is None else Path(folder)
    if home is None:
        hint = f"Set {VARIABLE} to the folder that holds {name}/: the open data are read in place and not part of the package."
        raise DataError(f"is not set, expected the folder of the open data ({name}/{table})", place=VARIABLE, hint=hint)
    for suffix in SUFFIXES:
        path = home / name / f"{table}{suffix}"
        if path.is_file():
            return path
    hint = f"The folder should hold {', '.join(f'{one}/' for one in OPEN_DATA)}."
    raise DataError(f"got no {table}.csv or {table}.csv.gz", place=str(home / name), hint=hint)


def in_seconds(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns named ``*_ms``, ``*_us`` or ``*_ms_*`` as ``*_s`` or ``*_s_*``."""
    columns = {}
    for name, values in frame.items():
        found = TIME_COLUMN.fullmatch(str(name))
        if found is None:
            columns[str(name)] = values
        else:
            columns[f"{found['stem']}_s{found['rest'] or ''}"] = values * TIME_UNITS[found["unit"]]
    return pd.DataFrame(columns)


def with_trans(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``trans``, both flags in one word."""
    return frame.assign(trans=frame["trans_a"] + frame["trans_b"])


def with_size(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``size_bytes`` of the reduced vector."""
    return frame.assign(size_bytes=FLOAT_BYTES * frame["n_floats"])


def with_step(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``step_s``, the time of one step on all GPUs."""
    return frame.assign(step_s=frame["subbatch_size"] * frame["n_gpus"] / frame["images_per_s"])


def with_shapes(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``subbatch_size``, ``maps_in``, ``size_in``, ``maps_out``, ``size_out`` (widths) where a layer tells its shapes."""
    bottom = frame["bottom"].astype("str").str.extract(SHAPE).apply(pd.to_numeric)
    top = frame["top"].astype("str").str.extract(SHAPE).apply(pd.to_numeric)
    return frame.assign(
        subbatch_size=bottom["samples"],
        maps_in=bottom["maps"],
        size_in=bottom["width"],
        maps_out=top["maps"],
        size_out=top["width"],
    )


ADDITIONS: dict[tuple[str, str], Callable[[pd.DataFrame], pd.DataFrame]] = {
    ("deepbench", "gemm"): with_trans,
    ("deepbench", "allreduce"): with_size,
    ("mxnet_perf", "scaling"): with_step,
    ("tf_benchmarks", "throughput"): with_step,
    ("convnet_benchmarks", "caffe_layer_geometry"): with_shapes,
}
