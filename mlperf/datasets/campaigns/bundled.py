"""Campaigns that ship with the package."""

from __future__ import annotations

from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean

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
