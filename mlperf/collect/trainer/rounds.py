"""Measured rounds of a campaign as durations to wait: steps.csv for gradients, updates.csv for memory operations. No model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.campaign import Campaign
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.components import IMAGE_OPERATIONS, SHARE_OPERATIONS, VECTOR_OPERATIONS

Rounds = list[float]


def gradient_rounds(campaign: Campaign, cnn: CnnSpec, subbatch_size: int, backend: str) -> dict[str, Rounds]:
    """Rounds of the whole step of this network at this sub-batch size, and of its images.

    Raises
    ------
    DataError
        The campaign has no such rows; names what it has.
    """
    steps = table(campaign.steps, "steps", campaign)
    own = steps[(steps["cnn"] == cnn.name) & (steps["backend"] == backend)]
    chosen = own[own["subbatch_size"] == subbatch_size]
    if chosen.empty:
        sizes = ", ".join(map(str, sorted(own["subbatch_size"].unique()))) or "none"
        raise DataError(
            f"got no rounds of {cnn.name} at {subbatch_size} samples by {backend}, expected one of its measured sizes: {sizes}",
            place=f"{campaign.path}, steps", hint="mlperf collect steps measures them.",
        )  # fmt: skip
    input_size = cnn.input_maps * cnn.input_size[0] * cnn.input_size[1]
    images = {name: image_rounds(campaign, name, subbatch_size, input_size) for name in IMAGE_OPERATIONS}
    return {"compute_gradient": chosen["step_s"].tolist(), **images}


def memory_rounds(campaign: Campaign, n_params: int, n_nodes: int) -> dict[str, Rounds]:
    """Rounds of every vector operation on this many parameters, or on a node's share of them."""
    sizes = dict.fromkeys(VECTOR_OPERATIONS, n_params) | dict.fromkeys(SHARE_OPERATIONS, max(1, n_params // n_nodes))
    return {
        name: between(grid_of(campaign, name, ("n_params",)), (size,), f"{name}, n_params").tolist() for name, size in sizes.items()
    }


def image_rounds(campaign: Campaign, name: str, subbatch_size: int, input_size: int) -> Rounds:
    """Rounds of one operation on images, between the measured sizes."""
    grid = grid_of(campaign, name, ("subbatch_size", "input_size"))
    return [float(each) for each in between(grid, (subbatch_size, input_size), f"{name}, subbatch_size and input_size")]


def table(frame: pd.DataFrame | None, name: str, campaign: Campaign) -> pd.DataFrame:
    """A table that must be there."""
    if frame is None:
        raise DataError(
            f"got no {name}.csv, expected measured rounds", place=str(campaign.path), hint=f"mlperf collect {name} measures them."
        )
    return frame


@lru_cache(maxsize=len((*VECTOR_OPERATIONS, *SHARE_OPERATIONS, *IMAGE_OPERATIONS)))
def grid_of(campaign: Campaign, operation: str, axes: tuple[str, ...]) -> pd.DataFrame:
    """Times by size (rows) and round (columns), by the clock that steps go by; rounds that lack a size are left out.

    Every network and setting reads the same: the last campaign's are kept.
    """
    updates = table(campaign.updates, "updates", campaign)
    rows = updates[updates["operation"] == operation]
    return rows.pivot_table(index=list(axes), columns="round", values="cpu_s", aggfunc="median").dropna(axis="columns")


def between(grid: pd.DataFrame, sizes: Sequence[float], place: str) -> np.ndarray:
    """Linear interpolation between measured sizes within each round, one axis after the other.

    Raises
    ------
    DataError
        A size lies outside the measured ones: a wait is never extrapolated.
    """
    if grid.empty:
        raise DataError(
            "got no complete round, expected measured rounds", place=place, hint="mlperf collect updates measures them."
        )
    measured = grid.index.get_level_values(0).unique().sort_values()
    size = sizes[0]
    if not measured[0] <= size <= measured[-1]:
        raise DataError(
            f"got size {size:g}, expected {measured[0]:g} to {measured[-1]:g} as measured", place=place,
            hint="Choose a network and nodes whose vectors and images lie inside; waits are measured rounds, never extrapolated.",
        )  # fmt: skip
    upper = measured[int(measured.searchsorted(size))]
    lower = measured[max(0, int(measured.searchsorted(size, side="right")) - 1)]
    share = 0.0 if upper == lower else (size - lower) / (upper - lower)
    ends = [inner(grid, each, sizes[1:], place) for each in (lower, upper)]
    return np.asarray((1 - share) * ends[0] + share * ends[1])


def inner(grid: pd.DataFrame, size: float, rest: Sequence[float], place: str) -> np.ndarray:
    """The rounds at one measured size of the first axis."""
    if not rest:
        return grid.loc[size].to_numpy(dtype=np.float64).reshape(-1)
    return between(pd.DataFrame(grid.xs(size, level=0)), rest, place)
