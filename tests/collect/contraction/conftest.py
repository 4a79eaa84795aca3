"""One small measured campaign for all tests of contractions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mlperf.collect.contraction import Build, ContractionRequest, collect_contractions, parse_build
from mlperf.collect.contraction.builds import DEFAULT_BUILDS

if TYPE_CHECKING:
    from made_once import Once


@pytest.fixture(scope="session")
def builds() -> tuple[Build, ...]:
    """Scalar and vectorised."""
    return tuple(parse_build(text) for text in DEFAULT_BUILDS)


@pytest.fixture(scope="session")
def base(builds: tuple[Build, ...]) -> ContractionRequest:
    """24 kernels, both builds, N = 12, two rounds; the folder is still to be named."""
    return ContractionRequest(Path(), builds, subset=24, sizes=(12,), rounds=2, seed=3, least_s=0.0)


@pytest.fixture
def one(base: ContractionRequest, tmp_path: Path) -> ContractionRequest:
    """Three scalar kernels, one round, into the test's folder."""
    return replace(base, out=tmp_path, builds=base.builds[:1], subset=3, rounds=1)


@pytest.fixture(scope="session")
def sweep(base: ContractionRequest, tmp_path_factory: pytest.TempPathFactory, made_once: Once) -> Path:
    """Folder of the finished campaign ``base``."""

    def measured() -> Path:
        folder = tmp_path_factory.mktemp("contractions") / "sweep"
        assert collect_contractions(replace(base, out=folder)).complete
        return folder

    made: Path = made_once("contraction-sweep", measured)
    return made
