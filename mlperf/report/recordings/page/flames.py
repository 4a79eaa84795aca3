"""Flame graphs as a tree of functions with time by swarm and phase, ready for a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.printable import printable
from mlperf.report.recordings.page.packing import packed
from mlperf.traces.timeline.flames import SEPARATOR

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
