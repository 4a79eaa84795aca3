"""Campaigns of tensor contractions: strict reading of a folder, and the ones that ship."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns import bundled
from mlperf.datasets.campaigns.digest import content_sha256
from mlperf.datasets.dictionary.contraction_schema import CONTRACTION_TABLES, TIMES
from mlperf.datasets.reading.folder import HOST, SUFFIXES, read_host, table_file
from mlperf.datasets.reading.read import ReadTable, read_checked
from mlperf.datasets.reading.source import check_settled


@dataclass(frozen=True, slots=True, eq=False)
class Contractions(Shown):
    """The tables of one campaign of contractions; columns as in ``CONTRACTION_TABLES``, times in seconds.

    Attributes
    ----------
    name : str
        The folder's name.
    path : Path
        The folder.
    host : Mapping[str, Any]
        Content of ``host.json``: machine, compilers, clock, family of patterns; empty without that file.
    times : DataFrame
        One row a kernel, build, size and alignment.
    rounds, cachegrind : DataFrame or None
        The visits behind the times; simulated counts.
    sha256 : str
        Digest of the content.
    """

    name: str
    path: Path
    host: Mapping[str, Any]
    times: pd.DataFrame
    rounds: pd.DataFrame | None
    cachegrind: pd.DataFrame | None
    sha256: str

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that are there, by name."""
        found = {name: getattr(self, name) for name in CONTRACTION_TABLES}
        return {name: frame for name, frame in found.items() if frame is not None}

    def to_dict(self) -> dict[str, Any]:
        """Name, path, host and digest; of the tables the number of rows."""
        return {
            "name": self.name,
            "path": str(self.path),
            "sha256": self.sha256,
            "host": dict(self.host),
            "n_rows": {name: len(frame) for name, frame in self.tables.items()},
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per build, size and alignment."""
        groups = self.times.groupby(["build", "N", "offset_bytes"], as_index=False)
        return groups.agg(n_kernels=("pattern", "size"), n_rounds=("n_rounds", "min"), time_median_s=("time_mean_s", "median"))


def read_contractions(path: Path | str, duplicates: str = "error") -> Contractions:
    """Read a campaign of contractions from a folder, or a bundled one by its name.

    Parameters
    ----------
    path : path or str
        The folder; or a name that ``bundled_contractions`` gives, where no such folder exists.
    duplicates : str
        What to do with rows equal in every column: ``"error"``, ``"keep"`` or ``"drop"``.

    Raises
    ------
    DataError
        No such folder, no ``times.csv`` in it, a cell that is not what the dictionary says (names file, line, column and
        value), or two rows of one kernel.
    """
    folder = contraction_path(path)
    files = contraction_files(folder)
    tables = {name: read_checked(file, CONTRACTION_TABLES[name], duplicates) for name, file in files.items()}
    check_unique(tables["times"])
    host = read_host(folder)
    documents = {HOST: (folder / HOST).read_bytes()} if host else {}
    content = {f"{name}.csv": table.grid.source.data for name, table in tables.items()}
    check_settled(table.grid.source for table in tables.values())
    frames: dict[str, Any] = {
        name: tables[name].frame.reset_index(drop=True) if name in tables else None for name in CONTRACTION_TABLES
    }
    sha256 = content_sha256({**documents, **content})
    return Contractions(name=folder.resolve().name, path=folder, host=host, sha256=sha256, **frames)


def check_unique(times: ReadTable) -> None:
    """Accept a table of times only if each kernel stands there once.

    Raises
    ------
    DataError
        Names the line of the second one.
    """
    twice = times.frame[times.frame.duplicated(list(TIMES.key))]
    if len(twice):
        row = int(twice.index[0])
        raise times.grid.error(
            row, "pattern", "one row for each build, N, offset_bytes and pattern", "Several visits of one kernel go to rounds.csv."
        )


def bundled_contractions() -> tuple[str, ...]:
    """Names of the bundled campaigns of contractions, sorted."""
    if not bundled.HOME.is_dir():
        return ()
    return tuple(sorted(folder.name for folder in bundled.HOME.iterdir() if is_contractions(folder)))


def is_contractions(folder: Path) -> bool:
    """Whether a folder holds a campaign of contractions: a table of times with most of its columns."""
    files = [folder / f"{TIMES.name}{suffix}" for suffix in SUFFIXES]
    headers = [set(header(file)) for file in files if file.is_file()]
    return any(2 * len(names & set(TIMES.names)) > len(TIMES.names) for names in headers)


def header(file: Path) -> list[str]:
    """Names in the first line of a table, as far as it can be read."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            return lines.readline().decode("utf-8").strip().split(",")
    except (OSError, EOFError, UnicodeDecodeError):
        return []


def contraction_path(path: Path | str) -> Path:
    """The folder of a campaign on disk, else of a bundled one; DataError: neither exists."""
    return bundled.folder_meant(path, bundled_contractions(), "a campaign of contractions", "Bundled ones")


def contraction_files(folder: Path) -> dict[str, Path]:
    """File of each table that is there.

    Raises
    ------
    DataError
        There is no table of times, or one stands there twice.
    """
    found = {name: file for name in CONTRACTION_TABLES if (file := table_file(folder, name)) is not None}
    if "times" not in found:
        raise DataError("got no times.csv", place=str(folder), hint="mlperf collect contraction measures it.")
    return found
