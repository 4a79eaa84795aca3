"""The random networks of a campaign: those it has, and as many more as are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import read_cnn
from mlperf.specs.zoo.generator import make_cnns
from mlperf.specs.zoo.generator_residual import make_residual_cnns

RESIDUAL_SHARE = 0.3
"""Of random networks that nobody chose further: enough that batch norm and its like are fitted on a dozen networks of forty."""


def population(folder: Path, n: int, n_residual: int | None, seed: int) -> list[CnnSpec]:
    """Draw the random networks of a campaign.

    Parameters
    ----------
    folder : Path
        The campaign's; networks that it holds are kept, so that a campaign grows by asking for more.
    n : int
        Networks of SPRINT's form; with ``n_residual`` None all random networks, of which a share is residual.
    n_residual : int, optional
        Networks with batch norm and branches.
    seed : int
        Of the draws.
    """
    residual = round(RESIDUAL_SHARE * n) if n_residual is None else n_residual
    plain = n - residual if n_residual is None else n
    return [*_grown(folder, "cnn", make_cnns, plain, seed), *_grown(folder, "res", make_residual_cnns, residual, seed)]


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
