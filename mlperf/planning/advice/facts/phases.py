"""Which marks of a program are which phase of a step, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray

WORDS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "exchange": re.compile(r"all_?reduce|exchange|synchron|(?:^|_)sync|barrier|all_?gather|reduce_scatter|communicat"),
        "update": re.compile(r"update|optimi[sz]er|(?:^|_)adam|(?:^|_)sgd|apply_grad"),
        "load": re.compile(
            r"load|(?:^|_)input|(?:^|_)data(?:_|$)|fetch(?!_weights)|next_batch|preprocess|(?:^|_)pre(?:_|$)|decode|queue"
        ),
        "backward": re.compile(r"backward|(?:^|_)bw(?:_|$)|(?:^|_)bwd"),
        "forward": re.compile(r"forward|(?:^|_)fw(?:_|$)|(?:^|_)fwd|inference"),
    }
)
"""A name that fits several is the first one's."""


def phases_by_role(phases: tuple[str, ...]) -> dict[str, list[str]]:
    """Marks of each role, in the order of `WORDS`; roles without one are left out."""
    found: dict[str, list[str]] = {}
    for name in phases:
        role = next((role for role, words in WORDS.items() if words.search(name)), None)
        if role is not None:
            found.setdefault(role, []).append(name)
    return found


def time_in(steps: pd.DataFrame, names: list[str]) -> FloatArray:
    """Seconds that each step spends in some phases, shape (n_steps,)."""
    found: FloatArray = steps[[f"{name}_s" for name in names]].sum(axis=1).to_numpy(float) if names else np.zeros(len(steps))
    return found
