"""Campaigns that ship with the package."""

from __future__ import annotations

from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean

HOME = Path(__file__).parents[1] / "data"
OTHER_KINDS = ("times.csv", "times.csv.gz")
"""Tables of campaigns that are not of networks: ``bundled_contractions`` names those."""


def bundled_names() -> tuple[str, ...]:
    """Names of the bundled campaigns, sorted."""
    if not HOME.is_dir():
        return ()
    described = (folder for folder in HOME.iterdir() if (folder / "README.md").is_file())
    return tuple(sorted(folder.name for folder in described if not any((folder / name).is_file() for name in OTHER_KINDS)))


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
