"""A copy of a bundled campaign for editing, comparing and training on parts of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.files import write_bytes_whole
from mlperf.core.places import make_folder
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.bundled import bundled_path
from mlperf.datasets.campaigns.contractions import bundled_contractions, contraction_path, is_contractions
from mlperf.datasets.campaigns.write import zipped
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.dictionary.trainer_schema import TRAINER_TABLES
from mlperf.datasets.reading.folder import find_campaign, table_file, table_name
from mlperf.datasets.reading.source import read_source


@dataclass(frozen=True, slots=True, eq=False)
class Exported(Shown):
    """Files that were written.

    Attributes
    ----------
    name : str
        The bundled campaign.
    path : Path
        The new folder.
    files : tuple of str
        Names inside it.
    """

    name: str
    path: Path
    files: tuple[str, ...]


def export_campaign(name: str, folder: Path | str, *, gz: bool = False, force: bool = False) -> Exported:
    """Copy a bundled campaign to a folder; its digest stays the same.

    Parameters
    ----------
    name : str
        As ``bundled_names`` or ``bundled_contractions`` gives it.
    folder : path
        Where to; made if need be.
    gz : bool
        Tables as ``.csv.gz`` in place of ``.csv``.
    force : bool
        Overwrite files that are there already.

    Raises
    ------
    UsageError
        No campaign of that name ships, or a file is there already and ``force`` was not said; nothing is written then.
    """
    source = contraction_path(name) if name in bundled_contractions() else bundled_path(name)
    content = packed(source, gz=gz)
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise UsageError("is a file, expected a folder", place=str(target), hint="Name a new folder.")
    taken = [file for file in (*content, *twins(content)) if (target / file).exists()]
    if taken and not force:
        raise UsageError(
            f"holds {taken[0]} already", place=str(target), hint="Name a new folder, or say force=True (--force) to overwrite it."
        )
    make_folder(target)
    for file, data in content.items():
        make_folder((target / file).parent)
        write_bytes_whole(target / file, data)
    for file in twins(content):
        (target / file).unlink(missing_ok=True)
    return Exported(name, target, tuple(content))


def packed(source: Path, *, gz: bool) -> dict[str, bytes]:
    """Content of every file of a campaign by its name in the copy."""
    files, documents = contraction_parts(source) if is_contractions(source) else campaign_parts(source)
    tables = {f"{name}.csv": read_source(file).data for name, file in files.items()}
    if gz:
        tables = {f"{name}.gz": zipped(data) for name, data in tables.items()}
    readme = source / "README.md"
    notes = {readme.name: readme.read_bytes()} if readme.is_file() else {}
    return {**tables, **documents, **notes}


def campaign_parts(source: Path) -> tuple[Mapping[str, Path], dict[str, bytes]]:
    """Tables of a campaign of networks with those of the trainer, and its specifications with host.json."""
    campaign = find_campaign(source)
    others = {schema.stem: table_file(source, schema.stem) for schema in TRAINER_TABLES.values()}
    tables = {TABLES[name].stem: file for name, file in campaign.tables.items()}
    return tables | {stem: file for stem, file in others.items() if file is not None}, campaign.documents()


def contraction_parts(source: Path) -> tuple[Mapping[str, Path], dict[str, bytes]]:
    """Tables of a campaign of contractions with those of their characteristics, and host.json."""
    tables = {name: file for file in sorted(source.iterdir()) if (name := table_name(file)) is not None}
    return tables, {file.name: file.read_bytes() for file in source.glob("host.json")}


def twins(content: dict[str, bytes]) -> list[str]:
    """Names of the same tables packed the other way; both side by side would be ambiguous."""
    tables = [file for file in content if file.endswith((".csv", ".csv.gz"))]
    return [file.removesuffix(".gz") if file.endswith(".gz") else f"{file}.gz" for file in tables]
