"""Flame graphs: a tree of functions with time by swarm and phase, ready for a page; folded stacks as files for other programs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.files import write_text_whole
from mlperf.core.printable import printable
from mlperf.report.recordings.page.packing import packed
from mlperf.report.recordings.page.tables import make_folder
from mlperf.traces.timeline.flames import SEPARATOR, folded_text

MOST_NODES = 20_000
LONGEST_FRAME = 200
SMALL = "(small stacks)"


def flame_document(stacks: pd.DataFrame) -> dict[str, Any]:
    """Every function's place below its callers, and the time that ended there.

    Parameters
    ----------
    stacks : DataFrame
        As `mlperf.traces.timeline.flames.folded_stacks` gives them.

    Returns
    -------
    dict
        ``frames`` (names), packed ``parent`` and ``frame`` by node, ``groups``: ``measure, swarm, phase, total_ns`` with packed
        ``node`` and ``weight_ns``; stacks that no more nodes are left for stand under one name, so that totals stay.
    """
    tree = _Tree()
    weights = stacks.groupby("stack", sort=False)["weight_ns"].sum().sort_values(ascending=False, kind="stable")
    node_of = {stack: tree.node(str(stack)) for stack in weights.index}
    groups = []
    for (measure, swarm, phase), own in stacks.groupby(["measure", "swarm", "phase"], sort=True):
        nodes = own["stack"].map(node_of).to_numpy(np.int64)
        known, place = np.unique(nodes, return_inverse=True)
        weight = np.bincount(place.reshape(-1), weights=own["weight_ns"].to_numpy(float))
        told = {
            "measure": measure,
            "swarm": printable(str(swarm)),
            "phase": printable(str(phase)),
            "total_ns": int(own["weight_ns"].sum()),
        }
        # Kiloseconds of many threads do not fit 32 bits of nanoseconds; a microsecond is finer than any sample.
        groups.append({**told, "n": len(known), "node": packed(known, "u4"), "weight_us": packed(weight / 1e3, "f4")})
    return {
        "frames": list(tree.frames),
        "n": len(tree.parents),
        "parent": packed(np.array(tree.parents), "i4"),
        "frame": packed(np.array(tree.frame_of), "u4"),
        "groups": groups,
    }


class _Tree:
    """Nodes by the stack that leads to them."""

    __slots__ = ("_children", "frame_of", "frames", "parents")

    def __init__(self) -> None:
        self.frames: dict[str, int] = {"": 0}
        self.parents: list[int] = [-1]
        self.frame_of: list[int] = [0]
        self._children: dict[tuple[int, int], int] = {}

    def node(self, stack: str) -> int:
        """Where a stack ends; where the tree is full, the place of small stacks."""
        at = 0
        parts = [printable(part)[:LONGEST_FRAME] for part in stack.split(SEPARATOR)]
        if len(self.parents) + len(parts) > MOST_NODES:
            parts = [SMALL]
        for part in parts:
            frame = self.frames.setdefault(part, len(self.frames))
            key = (at, frame)
            if key not in self._children:
                self._children[key] = len(self.parents)
                self.parents.append(at)
                self.frame_of.append(frame)
            at = self._children[key]
        return at


LONGEST = 80


def write_flames(stacks: pd.DataFrame, folder: Path) -> list[Path]:
    """Write ``SWARM.PHASE.cpu.folded`` and ``SWARM.PHASE.elapsed.folded``; weights are nanoseconds.

    Parameters
    ----------
    stacks : DataFrame
        As `mlperf.traces.timeline.flames.folded_stacks` gives them.
    folder : Path
        Made where it is not there.

    Returns
    -------
    list of Path
        What was written; weights of all files of a measure add up to those of the recording's rows.
    """
    make_folder(folder)
    written: dict[str, Path] = {}
    for (swarm, phase, measure), own in stacks.groupby(["swarm", "phase", "measure"], sort=True):
        name = _free(f"{_word(str(swarm))}.{_word(str(phase))}", str(measure), written)
        written[name] = folder / name
        write_text_whole(folder / name, folded_text(own))
    return list(written.values())


def _word(text: str) -> str:
    """A name as part of a file's name."""
    return re.sub(r"[^0-9A-Za-z_+-]+", "-", text).strip("-")[:LONGEST] or "unnamed"


def _free(stem: str, measure: str, taken: dict[str, Path]) -> str:
    """A file's name that no other group has, whatever the file system thinks of capitals."""
    lower = {name.lower() for name in taken}
    name, number = f"{stem}.{measure}.folded", 1
    while name.lower() in lower:
        number += 1
        name = f"{stem}-{number}.{measure}.folded"
    return name
