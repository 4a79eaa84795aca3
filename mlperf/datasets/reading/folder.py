"""The files of a campaign's folder: which table is which, the specifications, host.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.dictionary.schema import TABLES

SUFFIXES = (".csv", ".csv.gz")


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
        return content if self.host is None else {**content, "host.json": self.host.read_bytes()}


def find_campaign(path: Path) -> CampaignFolder:
    """Look which files a campaign's folder has.

    Raises
    ------
    DataError
        There is no table, a table stands there twice (plain and gzipped), or a CSV file is no table of the dictionary.
    """
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        name = table_name(file)
        if name is None or file.name.startswith("."):
            continue
        if name not in TABLES:
            hint = did_you_mean(name, TABLES)
            raise DataError(f"got table {name!r}, expected one of {', '.join(TABLES)}", place=str(file), hint=hint)
        if name in found:
            hint = "Keep one of the two: nothing says which is newer."
            raise DataError(f"stands beside {found[name].name}, expected one file a table", place=str(file), hint=hint)
        found[name] = file
    if not found:
        names = ", ".join(f"{name}.csv" for name in TABLES)
        raise DataError(
            f"got no table, expected one of {names}",
            place=str(path),
            hint="mlperf collect measures them; mlperf data list shows bundled ones.",
        )
    host = path / "host.json"
    tables = {name: found[name] for name in TABLES if name in found}
    return CampaignFolder(path, tables, tuple(sorted((path / "cnns").glob("*.toml"))), host if host.is_file() else None)


def table_name(file: Path) -> str | None:
    """Name of the table in a CSV file; None for another kind of file."""
    for suffix in SUFFIXES:
        if file.name.endswith(suffix):
            return file.name.removesuffix(suffix)
    return None


def read_host(folder: CampaignFolder) -> Mapping[str, Any]:
    """Content of ``host.json``; empty where there is none.

    Raises
    ------
    DataError
        It is no JSON object.
    """
    if folder.host is None:
        return {}
    hint = "host.json holds one object with the machine, versions and protocol."
    try:
        host = json.loads(folder.host.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise DataError(
            f"is no JSON ({error.msg})", place=f"{folder.host}, line {error.lineno}, column {error.colno}", hint=hint
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 (byte {error.start})", place=str(folder.host), hint=hint) from error
    if not isinstance(host, dict):
        raise DataError(f"got {type(host).__name__}, expected an object", place=f"{folder.host}, line 1", hint=hint)
    return host
