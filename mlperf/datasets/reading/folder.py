"""The files of a campaign's folder: which table is which, the specifications, host.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.core.documents import read_json
from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.dictionary.schema import TABLES

SUFFIXES = (".csv", ".csv.gz")
HOST = "host.json"
CONSTANTS_HINT = "Constants make a model of their own: mlperf train {folder} --system model-parallel -o model.json."
OF_OTHER_FOLDERS: Mapping[str, str] = {
    "exchange": "Runs of mlperf collect ddp are a table of steps: mlperf train {folder}/runs.csv --system data-parallel -o m.json.",
    "ps_runs": "Runs of mlperf collect ps are predicted from constants: mlperf compare constants.json {folder}/ps_runs.csv.",
    "canonical": CONSTANTS_HINT,
    "network": CONSTANTS_HINT,
}
"""What takes the tables that stand in the folders of other commands."""
HOST_HINT = f"{HOST} holds one object with the machine, versions and protocol."


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """Paths of a campaign.

    Attributes
    ----------
    path : Path
        The folder.
    tables : Mapping[str, Path]
        File of each table that is there, in the dictionary's order.
    cnns : tuple of Path
        ``cnns/*.toml`` in name order.
    host : Path or None
        ``host.json``.
    """

    path: Path
    tables: Mapping[str, Path]
    cnns: tuple[Path, ...]
    host: Path | None

    def documents(self) -> dict[str, bytes]:
        """Content of the specifications and of ``host.json``, by name inside the folder."""
        content = {f"cnns/{file.name}": file.read_bytes() for file in self.cnns}
        return content if self.host is None else {**content, HOST: self.host.read_bytes()}


def find_campaign(path: Path) -> CampaignFolder:
    """Look which files a campaign's folder has.

    Raises
    ------
    DataError
        There is no table, a table stands there twice (plain and gzipped), or a CSV file is no table of the dictionary.
    """
    known = {schema.stem: name for name, schema in TABLES.items()}
    for file in sorted(path.iterdir()):
        stem = table_name(file)
        if stem is not None and stem not in known and not file.name.startswith("."):
            hint = OF_OTHER_FOLDERS[stem].format(folder=path) if stem in OF_OTHER_FOLDERS else nearest_hint(stem, known)
            raise DataError(f"got table {stem!r}, expected one of {', '.join(known)}", place=str(file), hint=hint)
    tables = {name: found for stem, name in known.items() if (found := table_file(path, stem)) is not None}
    if not tables:
        raise DataError(
            f"got no table, expected one of {', '.join(f'{stem}.csv' for stem in known)}",
            place=str(path),
            hint="mlperf collect measures them; mlperf data list shows bundled ones.",
        )
    host = path / HOST
    return CampaignFolder(path, tables, tuple(sorted((path / "cnns").glob("*.toml"))), host if host.is_file() else None)


def table_file(folder: Path, stem: str) -> Path | None:
    """The CSV file of a table, plain or gzipped; None where there is none.

    Parameters
    ----------
    folder : path
        Of the campaign.
    stem : str
        File without its ending, as ``TableSchema.stem``.

    Raises
    ------
    DataError
        It stands there twice.
    """
    files = [file for suffix in SUFFIXES if (file := folder / f"{stem}{suffix}").is_file()]
    if len(files) > 1:
        hint = "Keep one of the two: nothing says which is newer."
        raise DataError(f"stands beside {files[0].name}, expected one file a table", place=str(files[1]), hint=hint)
    return files[0] if files else None


def table_name(file: Path) -> str | None:
    """Name of the table in a CSV file; None for another kind of file."""
    for suffix in SUFFIXES:
        if file.name.endswith(suffix):
            return file.name.removesuffix(suffix)
    return None


def told(host: Mapping[str, Any], folder: Path, *names: str) -> Mapping[str, Any]:
    """An object inside ``host.json`` by the names that lead to it; empty where it does not tell.

    Raises
    ------
    DataError
        Something on the way is no object.
    """
    found: Any = host
    for depth, name in enumerate(names, start=1):
        found = found.get(name)
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            place = f"{folder / HOST}: $.{'.'.join(names[:depth])}"
            raise DataError(f"got {found!r:.60}, expected an object", place=place, hint=HOST_HINT)
    return dict(found)


def read_host(folder: Path) -> Mapping[str, Any]:
    """Content of the ``host.json`` in a folder; empty where there is none.

    Raises
    ------
    DataError
        It is no JSON object.
    """
    path = folder / HOST
    return read_json(path, dict, HOST_HINT) if path.is_file() else {}
