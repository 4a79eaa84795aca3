"""A small real campaign: part of the bundled one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mlperf.datasets import bundled_names, bundled_path, read_campaign, write_table
from mlperf.specs import zoo_names

N_CNNS = 12
N_SUBBATCHES = 2


@pytest.fixture(scope="session")
def small_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the first generated CNNs, one network of the zoo and few sub-batches of the bundled campaign."""
    name = bundled_names()[0]
    whole = read_campaign(name)
    folder = tmp_path_factory.mktemp("campaigns") / "small"
    shutil.copytree(bundled_path(name), folder)
    present = sorted(whole.steps["cnn"].unique())
    zoo = [cnn for cnn in present if cnn in zoo_names()][:1]
    kept = {*zoo, *[cnn for cnn in present if cnn not in zoo_names()][:N_CNNS]}
    for file in (folder / "cnns").glob("*.toml"):
        if file.stem not in kept:
            file.unlink()
    for table in ("kernels", "steps"):
        frame = getattr(whole, table)
        sizes = frame.groupby("cnn")["subbatch_size"].transform(lambda column: column.rank(method="dense"))
        part = frame[frame["cnn"].isin(kept) & (sizes <= N_SUBBATCHES)]
        for stored in folder.glob(f"{table}.csv*"):
            stored.unlink()
        write_table(part.reset_index(drop=True), folder / f"{table}.csv", table)
    return folder
