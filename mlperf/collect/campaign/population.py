"""The random networks of a campaign: those it has, and as many more as are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import read_cnn
from mlperf.specs.zoo.generator import make_cnns
from mlperf.specs.zoo.generator_modern import make_modern_cnns
from mlperf.specs.zoo.generator_residual import make_residual_cnns

EXPLICIT = "numpy"
"""The backend that has no kernels of today's layers."""

RESIDUAL_SHARE = 0.3
"""Of random networks that nobody chose further: enough that batch norm and its like are fitted on a dozen networks of forty."""

MODERN_SHARE = 0.4
"""The same of networks of today's layers, where the backend runs them: two of each of their eight families in forty."""


LIBRARY_PLAIN: Mapping[str, Any] = {"max_params": 150_000_000, "max_neurons": 4096}
"""A library takes its memory anew in every step: what a large layer's gradient costs by it, only a large layer tells."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many random networks of each kind.

    Attributes
    ----------
    plain, residual, modern : int
        Of SPRINT's form (`make_cnns`), with batch norm and branches (`make_residual_cnns`), of today's layers (`make_modern_cnns`).
    wide : bool
        Whether plain ones have classifiers as wide as those of AlexNet and VGG.
    """

    plain: int
    residual: int
    modern: int
    wide: bool = False

    @classmethod
    def of(cls, n: int, residual: int | None, modern: int | None, backend: str) -> Shares:
        """Share out ``n`` networks; where a number of one kind is asked for, ``n`` are plain and nothing else is added."""
        wide = backend != EXPLICIT
        if residual is not None or modern is not None:
            return cls(n, residual or 0, modern or 0, wide)
        shared = round(RESIDUAL_SHARE * n), round(MODERN_SHARE * n) if wide else 0
        return cls(n - sum(shared), *shared, wide)


def population(folder: Path, shares: Shares, seed: int) -> list[CnnSpec]:
    """Draw the random networks of a campaign.

    Parameters
    ----------
    folder : Path
        The campaign's; networks that it holds are kept, so that a campaign grows by asking for more.
    shares : Shares
        How many of each kind.
    seed : int
        Of the draws.
    """
    plain = partial(make_cnns, **LIBRARY_PLAIN) if shares.wide else make_cnns
    kinds = (("cnn", plain, shares.plain), ("res", make_residual_cnns, shares.residual), ("mod", make_modern_cnns, shares.modern))
    return [cnn for stem, make, n in kinds for cnn in _grown(folder, stem, make, n, seed)]


def _grown(folder: Path, stem: str, make: Callable[..., list[CnnSpec]], n: int, seed: int) -> list[CnnSpec]:
    """The networks ``stem00``, ``stem01``, ... that are there, and new ones up to ``n``."""
    numbered = re.compile(rf"{stem}(\d+)\.toml")
    numbers = sorted(int(found[1]) for path in (folder / "cnns").glob(f"{stem}*.toml") if (found := numbered.fullmatch(path.name)))
    kept = [read_cnn(path) for path in sorted((folder / "cnns").glob(f"{stem}*.toml")) if numbered.fullmatch(path.name)]
    missing = n - len(kept)
    if missing <= 0:
        return kept
    # A later share is drawn by a seed of its own: the same numbers would be the same networks under other names.
    drawn = make(missing, seed=seed + len(kept))
    first = numbers[-1] + 1 if numbers else 0
    return [*kept, *(replace(cnn, name=f"{stem}{first + number:02d}") for number, cnn in enumerate(drawn))] if kept else drawn
