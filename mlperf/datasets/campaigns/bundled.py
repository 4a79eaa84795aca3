"""Campaigns that ship with the package."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean, nearest_hint

HOME = Path(__file__).parents[1] / "data"
OTHER_KINDS = ("times.csv", "times.csv.gz")
"""Tables of campaigns that are not of networks: ``bundled_contractions`` names those."""


def bundled_names() -> tuple[str, ...]:
    """Names of the bundled campaigns, sorted; one of several that belong together has its folder in front: ``judgement/ring``."""
    described = (readme.parent for depth in ("*", "*/*") for readme in HOME.glob(f"{depth}/README.md"))
    campaigns = (folder for folder in described if not any((folder / name).is_file() for name in OTHER_KINDS))
    return tuple(sorted(folder.relative_to(HOME).as_posix() for folder in campaigns))


def bundled_path(name: str) -> Path:
    """Folder of a bundled campaign.

    Raises
    ------
    UsageError
        No campaign of that name ships.
    """
    if name not in bundled_names():
        raise UsageError(f"got {name!r}, expected the name of a bundled campaign", hint=did_you_mean(name, bundled_names()))
    return HOME / name


def bundled_rows() -> dict[str, int]:
    """Rows of the tables of what ships, by name, as ``data/rows.csv`` has them: nothing needs be unpacked to tell them."""
    path = HOME / "rows.csv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["name"]: int(row["n_rows"]) for row in csv.DictReader(lines)}


def folder_meant(path: Path | str, names: Sequence[str], kind: str, bundled: str) -> Path:
    """The folder that a user means: one on disk, else a bundled one of those ``names``.

    Raises
    ------
    DataError
        Neither exists.
    """
    folder = Path(path)
    if folder.is_dir():
        return folder
    if str(path) in names:
        return HOME / path
    got = "a file" if folder.exists() else "nothing"
    hint = nearest_hint(str(path), names) or f"{bundled}: {', '.join(names) or 'none'}."
    raise DataError(f"got {got}, expected the folder of {kind}", place=str(path), hint=hint)
