"""Kernel times that several tests read, made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets.campaigns.kernel_times import normal_form
from mlperf.specs.patterns import RULES, make_patterns, sample_patterns
from mlperf.studies.kernels import KernelTimes, read_kernel_times
from mlperf.studies.kernels.feature_sets import nest_columns
from mlperf.studies.kernels.tables.machines import ASSUMED

N_PATTERNS = 90
SPREAD = 0.03


def made_table(size: int, build: str, factor: float, *, machine: str = ASSUMED.name) -> pd.DataFrame:
    """Kernels whose time is two costs of instructions and misses, five noisy repeats each, by construction."""
    patterns = sample_patterns(make_patterns(RULES["twice"]), N_PATTERNS, np.random.default_rng(3))
    plain = pd.DataFrame({"pattern": patterns, "N": size, "time_s": 1.0})
    frame, _ = normal_form(plain)
    nest = nest_columns(KernelTimes("made", frame, {ASSUMED.name: ASSUMED}, None, {}))
    movss = np.where(nest["operand_unit1"] == 2, 0, 4 + nest["operand_plane1"]).astype(float)
    ns = factor * (0.2 + 0.05 * movss + 8.0 * nest["l1_misses"] + 30.0 * nest["tlb_misses"])
    rng = np.random.default_rng(size + len(build))
    repeats = ns.to_numpy()[:, None] * np.exp(SPREAD * rng.standard_normal((len(patterns), 5)))
    seconds = 1e-9 * float(size) ** 4 * repeats
    named = {f"cpu{number + 1}_s": seconds[:, number] for number in range(5)}
    counts = {"cnt_movss": movss + 2, "cnt_add": 5.0, "in_movss": movss, "in_mulps": 1.0, "in_addps": 1.0, "in_add": 1.0}
    about = {"machine": machine, "pattern_set": "twice", "build": build, "N": size, "pattern": patterns}
    return pd.DataFrame({**about, "time_mean_s": seconds.mean(axis=1), **named, **counts})


@pytest.fixture(scope="session")
def table_maker() -> Callable[..., pd.DataFrame]:
    """`made_table`, for tests that need one of their own."""
    return made_table


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a table of three builds at two sizes."""
    folder = tmp_path_factory.mktemp("kernels") / "made"
    folder.mkdir()
    tables = [
        made_table(size, build, factor)
        for size in (50, 100)
        for build, factor in (("gcc_O1_scalar", 1.3), ("gcc_O2_sse3_fast", 1.0), ("gcc_O3_avx2_fast", 0.8))
    ]
    pd.concat(tables).to_csv(folder / "times.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def made(made_folder: Path) -> KernelTimes:
    """The same, read."""
    return read_kernel_times(made_folder)
