"""Which data there are, with title and licence: bundled campaigns, and the open data where their folder is known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.bundled import bundled_names, bundled_path, bundled_rows
from mlperf.datasets.campaigns.contractions import bundled_contractions, contraction_path
from mlperf.datasets.open.open_data import data_folder, open_names
from mlperf.datasets.reading.folder import table_name
from mlperf.datasets.reading.source import read_source

LICENCE = re.compile(r"\*\*Licence\*\*(.*?)(?=\*\*|\n\n|\Z)", re.DOTALL)
NAMES = ("Apache-2.0", "BSD-3-Clause", "BSD-2-Clause", "MIT", "CC-BY-4.0", "CC0-1.0", "public domain", "the project's own")
UNKNOWN = "see its README"


def title(folder: Path) -> str:
    """First heading of the folder's README; empty where there is none."""
    for line in readme(folder).splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").strip()
    return ""


def licence(folder: Path) -> str:
    """The first known licence that stands behind ``**Licence**`` in the folder's README."""
    found = LICENCE.search(readme(folder))
    words = found.group(1) if found else ""
    known = [name for name in NAMES if name in words]
    return min(known, key=words.index) if known else UNKNOWN


def readme(folder: Path) -> str:
    """Text of the folder's README.md; empty where there is none."""
    path = folder / "README.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set.

    Attributes
    ----------
    name : str
        Name to use in commands and ``read_campaign``, ``read_contractions`` (bundled) or ``read_open`` (open).
    kind : str
        ``"campaign"``, ``"contractions"`` or ``"open"``.
    description : str
        Title of its README.
    n_rows : int
        Rows of the tables directly in its folder.
    licence : str
        As its README states it.
    path : Path
        Its folder.
    """

    name: str
    kind: str
    description: str
    n_rows: int
    licence: str
    path: Path


@dataclass(frozen=True, slots=True, eq=False)
class DataList(Shown):
    """Data sets that can be read.

    Attributes
    ----------
    data_sets : tuple of DataSet
        Bundled campaigns first, each part in name order.
    """

    data_sets: tuple[DataSet, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per data set, without the folder."""
        names = ("name", "kind", "description", "n_rows", "licence")
        return pd.DataFrame([{name: getattr(one, name) for name in names} for one in self.data_sets], columns=list(names))


def list_data() -> DataList:
    """Bundled campaigns, and the open data in the folder that ``MLPERF_SHARED_DATA`` names."""
    rows = bundled_rows()
    found = [describe_folder(bundled_path(name), name, "campaign", rows.get(name)) for name in bundled_names()]
    found += [describe_folder(contraction_path(name), name, "contractions", rows.get(name)) for name in bundled_contractions()]
    folder = data_folder()
    if folder is not None:
        found += [describe_folder(folder / name, name, "open") for name in open_names() if (folder / name).is_dir()]
    return DataList(tuple(found))


def describe_folder(folder: Path, name: str, kind: str, n_rows: int | None = None) -> DataSet:
    """A data set from its README and the rows of its tables, counted where nobody tells them."""
    return DataSet(name, kind, title(folder), count_rows(folder) if n_rows is None else n_rows, licence(folder), folder)


def count_rows(folder: Path) -> int:
    """Rows of the tables directly in a folder."""
    tables = (file for file in sorted(folder.iterdir()) if table_name(file) is not None)
    return sum(read_source(file).data.rstrip().count(b"\n") for file in tables)
