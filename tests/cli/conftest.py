"""A small real campaign: part of the bundled one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from mlperf.datasets import bundled_names, bundled_path, read_campaign, write_table

KEPT = ("alexnet", *(f"cnn{number:02}" for number in range(6)), *(f"res{number:02}" for number in range(4)))
N_SUBBATCHES = 3
LARGEST_PRODUCT = 10**6


@pytest.fixture(scope="session")
def small_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a few plain, residual and well-known networks of the bundled campaign, and small products only."""
    name = bundled_names()[0]
    whole = read_campaign(name)
    folder = tmp_path_factory.mktemp("campaigns") / "small"
    shutil.copytree(bundled_path(name), folder)
    for file in (folder / "cnns").glob("*.toml"):
        if file.stem not in KEPT:
            file.unlink()
    products = whole.sgemm[["m", "n", "k"]].prod(axis=1)
    replace(folder, "sgemm", whole.sgemm[products <= LARGEST_PRODUCT])
    for table in ("kernels", "steps"):
        frame = getattr(whole, table)
        sizes = frame.groupby("cnn")["subbatch_size"].rank(method="dense")
        replace(folder, table, frame[frame["cnn"].isin(KEPT) & (sizes <= N_SUBBATCHES)])
    return folder


def replace(folder: Path, table: str, rows: pd.DataFrame) -> None:
    """Write some rows of a table in the place of all."""
    for stored in folder.glob(f"{table}.csv*"):
        stored.unlink()
    write_table(rows.reset_index(drop=True), folder / f"{table}.csv", table)
