"""Every problem of a campaign or table, one for each file, or a summary of what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.campaigns.campaign import campaign_path, read_campaign
from mlperf.datasets.campaigns.contractions import (
    bundled_contractions,
    contraction_files,
    contraction_path,
    is_contractions,
    read_contractions,
)
from mlperf.datasets.campaigns.digest import table_sha256
from mlperf.datasets.dictionary.column import TableSchema
from mlperf.datasets.dictionary.contraction_schema import CONTRACTION_TABLES
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.dictionary.synchronous_schema import DDP_RUNS, OWN_TABLES
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.folder import find_campaign, table_file, table_name
from mlperf.datasets.reading.read import read_table
from mlperf.datasets.reading.run_parts import read_steps
from mlperf.datasets.reading.source import read_source
from mlperf.specs import read_cnn


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct: where, what, and what to do."""

    place: str
    message: str
    hint: str

    def __str__(self) -> str:
        """As an error message reads."""
        return str(DataError(self.message, place=self.place, hint=self.hint))


@dataclass(frozen=True, slots=True, eq=False)
class DataCheck(Shown):
    """What was found in a campaign or table.

    Attributes
    ----------
    path : Path
        What was checked.
    problems : tuple of Problem
        The first problem of each file; empty where all is well.
    n_rows : Mapping[str, int]
        Rows of each table that is well.
    sha256 : str
        Digest of the content; empty where there are problems.
    """

    path: Path
    problems: tuple[Problem, ...]
    n_rows: Mapping[str, int]
    sha256: str

    @property
    def is_valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Every field, and ``is_valid``."""
        return {**super(DataCheck, self).to_dict(), "is_valid": self.is_valid}

    def to_frame(self) -> pd.DataFrame:
        """One row per problem; one row per table where there is none."""
        if self.problems:
            return pd.DataFrame([{"place": one.place, "message": one.message, "hint": one.hint} for one in self.problems])
        return pd.DataFrame([{"table": name, "n_rows": rows} for name, rows in self.n_rows.items()])


def check_data(path: Path | str, *, target: str | None = None, duplicates: str = "error", na: str = "error") -> DataCheck:
    """Check the folder of a campaign (of networks, of contractions or of synchronous runs), a bundled one, a table, or any CSV.

    Parameters
    ----------
    path : path or str
        A folder, a bundled campaign's name, or a file. A file named like a table of the dictionary is checked as that table.
    target : str, optional
        Response of any other CSV.
    duplicates, na : str
        Policies of ``read_campaign`` and ``read_any_table``.

    Raises
    ------
    DataError
        Nothing of that name exists.
    """
    if Path(path).is_file():
        return check_file(Path(path), target, duplicates, na)
    if not Path(path).exists() and (target is not None or Path(path).suffix):
        beside = [each.name for each in Path(path).absolute().parent.glob("*") if each.is_file()]
        raise DataError("there is no such file", place=str(path), hint=nearest_hint(Path(path).name, beside) or "Check the path.")
    folder = data_path(path)
    if is_synchronous(folder):
        return check_synchronous(folder, duplicates)
    return check_contractions(folder, duplicates) if is_contractions(folder) else check_campaign(folder, duplicates)


def data_path(path: Path | str) -> Path:
    """The folder that a user means: of a campaign of networks or of contractions."""
    return contraction_path(path) if str(path) in bundled_contractions() else campaign_path(path)


def check_file(path: Path, target: str | None, duplicates: str, na: str) -> DataCheck:
    """Check one CSV file."""
    name = table_name(path) or path.name

    def read() -> pd.DataFrame:
        if target is None and (schema := own_schema(path)) is not None:
            return read_own(path, schema, duplicates)
        if name in TABLES and target is None:
            return read_table(path, name, duplicates)
        if name in CONTRACTION_TABLES and target is None and is_contractions(path.parent):
            return read_table(path, CONTRACTION_TABLES[name], duplicates)
        return read_any_table(path, target, duplicates=duplicates, na=na)

    problems: list[Problem] = []
    frame = noting(problems, read)
    return DataCheck(path, tuple(problems), {} if frame is None else {name: len(frame)}, "" if problems else table_sha256(path))


def check_campaign(path: Path, duplicates: str) -> DataCheck:
    """Check every file of a campaign by itself; where each is well, check them against one another."""
    problems: list[Problem] = []
    n_rows = rows_of(readers(path, problems, duplicates), problems)
    campaign = None if problems else noting(problems, lambda: read_campaign(path, duplicates))
    return DataCheck(path, tuple(problems), n_rows, "" if campaign is None else campaign.sha256)


def rows_of(reads: Iterable[tuple[str, Callable[[], Any]]], problems: list[Problem]) -> dict[str, int]:
    """Rows of each table that is well; what is wrong with the others, and with files that are no tables, is noted."""
    frames = {name: noting(problems, read) for name, read in reads}
    return {name: len(frame) for name, frame in frames.items() if isinstance(frame, pd.DataFrame)}


def check_synchronous(path: Path, duplicates: str) -> DataCheck:
    """Check ``runs.csv``, ``exchange.csv`` and the specifications of synchronous runs."""
    problems: list[Problem] = []
    cnns = [(f"cnns/{file.name}", partial(read_cnn, file)) for file in sorted((path / "cnns").glob("*.toml"))]
    tables = {name: found for name in OWN_TABLES if (found := table_file(path, name)) is not None}
    reads = [(name, partial(read_own, file, OWN_TABLES[name], duplicates)) for name, file in tables.items()]
    n_rows = rows_of([*cnns, *reads], problems)
    digests = "".join(table_sha256(file) for file in tables.values())
    return DataCheck(path, tuple(problems), n_rows, "" if problems else sha256(digests.encode()).hexdigest())


def read_own(file: Path, schema: TableSchema, duplicates: str) -> pd.DataFrame:
    """A table of synchronous training; of runs, steps go with their parts."""
    return read_steps(file, duplicates) if schema is DDP_RUNS else read_table(file, schema, duplicates)


def is_synchronous(path: Path) -> bool:
    """Whether a folder holds the runs of ``mlperf collect ddp``, told by the header of ``runs.csv``."""
    file = table_file(path, DDP_RUNS.stem) if path.is_dir() else None
    return file is not None and own_schema(file) is not None


def own_schema(path: Path) -> TableSchema | None:
    """The dictionary's table of synchronous runs or exchanges that a file is, by its name and header; None for other files.

    Asynchronous campaigns have a ``runs.csv`` of their own: theirs names no engine.
    """
    schema = OWN_TABLES.get(table_name(path) or "")
    return schema if schema is not None and {"engine", "n_gpus_per_node"} <= set(header_of(path)) else None


def header_of(path: Path) -> list[str]:
    """Names in the first line of a CSV file that is not a comment; empty where there is none."""
    try:
        lines = read_source(path).lines()
    except DataError:
        # What is wrong with the file is told by whoever reads its rows.
        return []
    first = next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")
    return [cell.strip().strip('"') for cell in first.split(",")]


def check_contractions(path: Path, duplicates: str) -> DataCheck:
    """Check every table of a campaign of contractions by itself, then all together."""
    problems: list[Problem] = []
    files = noting(problems, lambda: contraction_files(path)) or {}
    reads = [(name, partial(read_table, file, CONTRACTION_TABLES[name], duplicates)) for name, file in files.items()]
    n_rows = rows_of(reads, problems)
    found = None if problems else noting(problems, lambda: read_contractions(path, duplicates))
    return DataCheck(path, tuple(problems), n_rows, "" if found is None else found.sha256)


def readers(path: Path, problems: list[Problem], duplicates: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and reader of each file of a campaign."""
    folder = noting(problems, lambda: find_campaign(path))
    if folder is None:
        return
    for file in folder.cnns:
        yield file.stem, partial(read_cnn, file)
    for name, file in folder.tables.items():
        yield name, partial(read_table, file, name, duplicates)


def noting(problems: list[Problem], read: Callable[[], Any]) -> Any:
    """Result of ``read``; None where it found a problem, which is then noted."""
    try:
        return read()
    except DataError as error:
        problems.append(Problem(error.place or "", error.message, error.hint or ""))
        return None
