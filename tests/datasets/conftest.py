"""A small campaign with every table, made from the specification of one network."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets import COMPONENT_NAMES, TABLES, write_table
from mlperf.specs import CnnSpec, kernel_calls, write_cnn

SEED = 20171
CNN = CnnSpec.from_sprint("tiny", 12, [3, 4, 5, 6], pools_after=[1], n_conv=2)


def sample_columns(rng: np.random.Generator, n_rows: int) -> dict[str, np.ndarray]:
    times = rng.lognormal(-7, 0.5, n_rows)
    return {
        "cpu_s": times,
        "wall_s": times * 1.01,
        "round": np.arange(n_rows) % 3 + 1,
        "sequence": np.arange(n_rows),
        "load": rng.random(n_rows).round(2) + 0.01,
        "reference_s": np.full(n_rows, 0.0021),
    }


def kernels_frame(rng: np.random.Generator) -> pd.DataFrame:
    names = ("kernel", "layer", "m", "n", "k", "trans", "access_bytes")
    rows = [{name: getattr(call, name) for name in names} | {"subbatch_size": b} for b in (1, 4) for call in kernel_calls(CNN, b)]
    return pd.DataFrame(rows).assign(backend="numpy", cnn=CNN.name, **sample_columns(rng, len(rows)))


def numbers_frame(name: str, rng: np.random.Generator, **texts: str) -> pd.DataFrame:
    columns = [column for column in TABLES[name].columns if column.is_numeric]
    values = {column.name: rng.integers(1, 99, 2) if column.kind == "integer" else rng.random(2) + 0.01 for column in columns}
    return pd.DataFrame({**values, "run": [1, 2], **texts})


def make_frames() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(SEED)
    setting = {"run": [1, 2], "mode": "emulated", "cnn": CNN.name, "n_nodes": [2, 1], "n_gpus_per_node": 4, "subbatch_size": 4}
    sgemm = pd.DataFrame(
        {"trans": ["NN", "TN", "NT"], "m": [1, 16, 23], "n": [8, 8, 11], "k": [4, 64, 9], "purpose": ["grid", "grid", "validation"]}
    )
    steps = pd.DataFrame({"backend": "numpy", "cnn": CNN.name, "subbatch_size": [1, 4, 4], "step_s": [0.011, 0.021, 0.022]})
    updates = pd.DataFrame(
        {
            "operation": ["fetch_weights", "load_image", "deform_image"],
            "n_params": [CNN.n_params, 0, 0],
            "subbatch_size": [0, 4, 8],
            "input_size": [0, 432, 432],
        }
    )
    times = {f"{name}_s": rng.lognormal(-6, 0.3, 2) for name in COMPONENT_NAMES}
    shares = {"fetch_probability": [0.8, 1.0], "ready_probability": [1.0, 0.7]}
    runs = {
        "gpu_iteration_s": [0.4, 0.5],
        "update_iteration_s": [0.3, 0.2],
        "mean_minibatch_size": [24.0, 6.4],
        "epoch_s": [99.5, 400.25],
        "staleness": [2.4, 3.0],
    }
    return {
        "sgemm": sgemm.assign(**sample_columns(rng, 3)),
        "kernels": kernels_frame(rng),
        "steps": steps.assign(**sample_columns(rng, 3)),
        "updates": updates.assign(**sample_columns(rng, 3)),
        "components": pd.DataFrame({**setting, "n_params": CNN.n_params, **times, **shares}),
        "runs": pd.DataFrame({**setting, "n_params": CNN.n_params, **runs}),
        "details": numbers_frame("details", rng, mode="emulated"),
        "learning": numbers_frame("learning", rng, mode="simulated", data="digits", cnn=CNN.name),
    }


def write_folder(folder: Path, tables: tuple[str, ...] = tuple(TABLES), suffix: str = ".csv") -> Path:
    for name, frame in make_frames().items():
        if name in tables:
            write_table(frame, folder / f"{TABLES[name].stem}{suffix}", name)
    write_cnn(CNN, folder / "cnns" / f"{CNN.name}.toml")
    (folder / "host.json").write_text('{"machine": {"name": "unit test"}}\n', encoding="utf-8")
    return folder


@pytest.fixture
def small_cnn() -> CnnSpec:
    """The network of the small campaign."""
    return CNN


@pytest.fixture
def small_frames() -> dict[str, pd.DataFrame]:
    """The tables of the small campaign."""
    return make_frames()


@pytest.fixture
def write_small_campaign() -> Callable[..., Path]:
    """``write_small_campaign(folder, tables=all, suffix=".csv")`` writes the small campaign."""
    return write_folder


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A new folder with all tables."""
    return write_folder(tmp_path / "campaign")


@pytest.fixture(scope="session")
def small_texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Text of each table."""
    folder = write_folder(tmp_path_factory.mktemp("texts"))
    return {name: (folder / f"{schema.stem}.csv").read_text(encoding="utf-8") for name, schema in TABLES.items()}


@pytest.fixture
def edited(tmp_path: Path, small_texts: dict[str, str]) -> Callable[..., Path]:
    """A campaign of one table with one cell or the header replaced: ``edited("steps", line, column, text)``."""
    write_cnn(CNN, tmp_path / "cnns" / f"{CNN.name}.toml")

    def edit(table: str, line: int, column: str, text: str) -> Path:
        rows = list(csv.reader(io.StringIO(small_texts[table])))
        rows[line - 1][rows[0].index(column)] = text
        path = tmp_path / f"{TABLES[table].stem}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
        return tmp_path

    return edit
