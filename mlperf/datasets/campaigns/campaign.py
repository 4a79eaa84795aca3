"""A campaign: everything measured on one machine, with the networks that were run and what is known of the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from mlperf.core.errors import PATH, DataError, check_type
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.bundled import bundled_names, bundled_path, folder_meant
from mlperf.datasets.campaigns.digest import content_sha256
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.reading.consistency import check_cnns, check_kernels
from mlperf.datasets.reading.folder import HOST, CampaignFolder, find_campaign, read_host, told
from mlperf.datasets.reading.read import read_checked
from mlperf.datasets.reading.run_parts import check_runs
from mlperf.datasets.reading.source import check_settled
from mlperf.specs import read_cnn

if TYPE_CHECKING:
    from mlperf.specs.network.cnn import CnnSpec


@dataclass(frozen=True, slots=True, eq=False)
class Campaign(Shown):
    """The tables of one campaign, each None where it was not measured; columns as in ``TABLES``, times in seconds.

    Attributes
    ----------
    name : str
        The folder's name.
    path : Path
        The folder.
    cnns : Mapping[str, CnnSpec]
        Specifications by name, in name order.
    host : Mapping[str, Any]
        Content of ``host.json``: machine, versions, protocol; empty without that file.
    sgemm, kernels, steps, updates, components, runs, details, learning : DataFrame or None
        The tables; ``details`` from ``asgd/details.csv``, ``learning`` from ``asgd/learning.csv``.
    sha256 : str
        Digest of the content: neither the order of the files on disk nor their compression changes it.
    """

    name: str
    path: Path
    cnns: Mapping[str, CnnSpec]
    host: Mapping[str, Any]
    sgemm: pd.DataFrame | None
    kernels: pd.DataFrame | None
    steps: pd.DataFrame | None
    updates: pd.DataFrame | None
    components: pd.DataFrame | None
    runs: pd.DataFrame | None
    details: pd.DataFrame | None
    learning: pd.DataFrame | None
    sha256: str

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that were measured, by name."""
        frames = {name: getattr(self, name) for name in TABLES}
        return {name: frame for name, frame in frames.items() if frame is not None}

    def table(self, name: str) -> pd.DataFrame:
        """A table that is needed.

        Raises
        ------
        DataError
            It was not measured.
        """
        if name not in self.tables:
            got, stem = ", ".join(f"{TABLES[found].stem}.csv" for found in self.tables), TABLES[name].stem
            hint = f"Measure it (mlperf collect), or start from mlperf data template {name}."
            raise DataError(f"got {got}, expected also {stem}.csv or {stem}.csv.gz", place=str(self.path), hint=hint)
        return self.tables[name]

    def runs_of(self, name: str) -> pd.DataFrame:
        """A table that is needed and has one row a run.

        Raises
        ------
        DataError
            It was not measured, or a run stands there twice.
        """
        table = self.table(name)
        twice = table[table["run"].duplicated()]
        if len(twice):
            hint = "Each run has one row: remove the other, or number it anew in every table of the campaign."
            raise DataError(f"got run {twice['run'].iloc[0]} more than once", place=f"{self.path}, {name}, column run", hint=hint)
        return table

    def told(self, *names: str) -> Mapping[str, Any]:
        """An object inside ``host.json`` by the names that lead to it, empty where there is none: see `told`."""
        return told(self.host, self.path, *names)

    @property
    def cache_bytes(self) -> dict[str, int]:
        """Capacities of the host's caches by level, as ``host.json`` tells them; DataError: one is no number of bytes."""
        fields = Fields(self.told("host", "cache_bytes"), f"{self.path / HOST}: $.host.cache_bytes")
        return {level: fields.integer(level) for level in fields.ordered_names}

    def backend(self, name: str | None = None, table: str = "kernels") -> str:
        """The backend of that name whose kernels (or rows of another ``table``) were measured; without a name the only one.

        Raises
        ------
        DataError
            There is none of that name, or there are several and none was named.
        """
        present = sorted(str(found) for found in self.table(table)["backend"].unique())
        if name is None and len(present) == 1:
            return present[0]
        if name in present:
            return str(name)
        raise DataError(
            f"got backend {name!r}, expected one of {', '.join(present)}",
            place=f"{self.path}/{table}.csv, column backend",
            hint="Name one with --backend.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Name, path, networks, host and digest; of the tables the number of rows."""
        return {
            "name": self.name,
            "path": str(self.path),
            "sha256": self.sha256,
            "cnns": list(self.cnns),
            "host": dict(self.host),
            "n_rows": {name: len(frame) for name, frame in self.tables.items()},
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per table: rows, distinct measurements, networks."""
        rows = [
            {
                "table": name,
                "n_rows": len(frame),
                "n_keys": len(frame.drop_duplicates(list(TABLES[name].key))),
                "n_cnns": frame["cnn"].nunique() if "cnn" in frame else 0,
            }
            for name, frame in self.tables.items()
        ]
        return pd.DataFrame(rows)


def read_campaign(path: Path | str, duplicates: str = "error") -> Campaign:
    """Read a campaign from a folder, or a bundled one by its name.

    Parameters
    ----------
    path : path or str
        The folder; or a name that ``bundled_names`` gives, where no such folder exists.
    duplicates : str
        What to do with rows equal in every column: ``"error"``, ``"keep"`` or ``"drop"``.

    Raises
    ------
    DataError
        No such folder, no table in it, or a table or specification is wrong (see ``read_table``), or they contradict one
        another: a network without specification, a kernel that its network does not run, sizes that are not the layer's, a run
        whose setting differs between two tables or whose iteration its components contradict.
    """
    check_type(path, PATH, "path", "the folder or the name of a campaign")
    folder = find_campaign(campaign_path(path))
    tables = {name: read_checked(file, TABLES[name], duplicates) for name, file in folder.tables.items()}
    cnns = _read_cnns(folder)
    for table in tables.values():
        check_cnns(table, cnns)
    if "kernels" in tables:
        check_kernels(tables["kernels"], cnns)
    check_runs(tables)
    host = read_host(folder.path)
    content = {f"{TABLES[name].stem}.csv": table.grid.source.data for name, table in tables.items()}
    sha256 = content_sha256({**folder.documents(), **content})
    check_settled(table.grid.source for table in tables.values())
    frames: dict[str, Any] = {name: tables[name].frame.reset_index(drop=True) if name in tables else None for name in TABLES}
    return Campaign(name=folder.path.resolve().name, path=folder.path, cnns=cnns, host=host, sha256=sha256, **frames)


def load_campaign(name: str) -> Campaign:
    """Read a bundled campaign.

    Raises
    ------
    UsageError
        No campaign of that name ships.
    """
    return read_campaign(bundled_path(name))


def campaign_path(path: Path | str) -> Path:
    """The folder of a campaign on disk, else of a bundled one; DataError: neither exists."""
    return folder_meant(path, bundled_names(), "a campaign", "Bundled campaigns")


def _read_cnns(folder: CampaignFolder) -> dict[str, CnnSpec]:
    """Specifications by name; DataError: a file holds a network of another name, or no valid one."""
    cnns = {}
    for file in folder.cnns:
        cnn = read_cnn(file)
        if cnn.name != file.stem:
            hint = f"Rename the file to {cnn.name}.toml, or the network: the tables refer to it by this name."
            raise DataError(f"got {cnn.name!r}, expected {file.stem!r}, the file's name", place=f"{file}, name", hint=hint)
        cnns[cnn.name] = cnn
    return cnns
