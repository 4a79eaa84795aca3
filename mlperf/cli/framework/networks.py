"""The value of ``--cnn``: a network's file, a shipped name, a network of a campaign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import click

from mlperf.cli.framework.values import NameOrFile, is_file
from mlperf.core.suggest import did_you_mean

MOST_NAMED = 3


def shipped_cnns() -> Sequence[str]:
    """Names of the CNNs that ship with mlperf."""
    from mlperf.specs import zoo_names

    return list(zoo_names())


class CnnName(NameOrFile):
    """A TOML or ONNX file, a shipped name, ``CAMPAIGN/NAME``, and ``module:function`` where wanted."""

    def __init__(self, *, functions: bool = False) -> None:
        super().__init__("CNN", shipped_cnns, functions=functions)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        """Return a Path for a file or a campaign's network, the name for a shipped one."""
        text = str(value)
        if not is_file(Path(text)):
            _, name = parted(text)
            for folder in folders_of_networks(text):
                if is_file(folder / f"{name}.toml"):
                    return folder / f"{name}.toml"
        return super().convert(value, param, ctx)

    def absent(self, text: str) -> str:
        """Name the nearest network of the campaign that was named, or the campaigns that have one of that name."""
        campaign, name = parted(text)
        known = [network for folder in folders_of_networks(text) for network in networks_in(folder)]
        if known:
            return f"campaign {campaign.as_posix()!r} has no network {name!r}. {did_you_mean(name, known)}"
        return f"{super().absent(text)}. {in_campaigns(name)}".rstrip(". ")

    def unknown(self, text: str) -> str:
        """Name the campaigns that have a network of that name, or the nearest shipped one."""
        found = in_campaigns(text)
        return f"no {self.kind} is called {text!r} and no such file exists. {found}" if found else super().unknown(text)


def parted(text: str) -> tuple[PurePath, str]:
    """Campaign and network of ``CAMPAIGN/NAME``, with or without the file's ending."""
    return PurePath(text).parent, PurePath(text).name.removesuffix(".toml")


def folders_of_networks(text: str) -> Iterator[Path]:
    """Folders of specifications of the campaign that ``CAMPAIGN/NAME`` names: one on disk, one that ships."""
    from mlperf.datasets.campaigns.bundled import HOME, bundled_names

    campaign, _ = parted(text)
    if campaign == PurePath():
        return
    yield Path(campaign) / "cnns"
    if campaign.as_posix() in bundled_names():
        yield HOME / campaign / "cnns"


def networks_in(folder: Path) -> list[str]:
    """Names of the networks that a folder specifies; none where no file system takes its name."""
    try:
        return sorted(file.stem for file in folder.glob("*.toml"))
    except (OSError, ValueError):
        return []


def in_campaigns(name: str) -> str:
    """How a network is named that campaigns that ship have; empty where none has it."""
    from mlperf.datasets.campaigns.bundled import HOME, bundled_names

    found = [campaign for campaign in bundled_names() if is_file(HOME / campaign / "cnns" / f"{name}.toml")]
    if not found:
        return ""
    more = len(found) - MOST_NAMED
    further = f" and {more} more" if more > 0 else ""
    return f"Campaigns have one: {', '.join(f'{campaign}/{name}' for campaign in found[:MOST_NAMED])}{further}"
