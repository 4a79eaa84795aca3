"""Writes one small model file of every kind, and what each model predicts: later releases must read them and say the same.

Run in the release that is to be kept: ``python tests/reference/models/make_models.py FOLDER``.
"""

from __future__ import annotations

import json
import lzma
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mlperf
from mlperf.datasets import bundled_path, read_campaign, write_table
from mlperf.features.network.partition import layer_table
from mlperf.models import (
    BoostedResidual,
    CensoredNormal,
    FormAverage,
    GridLocal,
    HuberOLS,
    LogOLS,
    LogStepwiseOLS,
    NonNegativeOLS,
    QuantileOLS,
    RatioLocal,
    ScatterLocal,
)
from mlperf.models.online.recursive import RecursiveLeastSquares
from mlperf.planning.calibration.foreign import apply_calibration, calibrate_tables
from mlperf.planning.partition.given_plans import predict_plans
from mlperf.specs import read_cnn
from mlperf.specs.machine import find_machine
from mlperf.specs.zoo.zoo import find_cnn
from mlperf.studies.kernels import predict_kernels, read_all_kernels, train_kernels
from mlperf.training.collectives.train_exchange import train_exchange
from mlperf.training.quality import fit_quality_table
from mlperf.training.systems.constants_model import train_constants
from mlperf.training.systems.parts_model import train_parts
from mlperf.training.systems.server_fit import fit_servers
from mlperf.training.systems.train_system import train_system

LOOPS = Path(__file__).parents[1] / "parallel" / "servers" / "constants"
NETWORKS = ("cnn00", "cnn01", "cnn02")
LARGEST_PRODUCT = 300
OUTPUTS = ("epoch_s", "gpu_iteration_s", "mean_minibatch_size")
ONLY_SIZES = ("recursive_least_squares", "scatter_local", "ratio_local", "form_average")
TERMS = ("m*n", "log2(n)", "m", "device")


def small_table() -> tuple[pd.DataFrame, Any]:
    """Times of a made-up kernel."""
    rng = np.random.default_rng(7)
    sizes = {"m": 2.0 ** rng.integers(0, 9, 60), "n": np.round(rng.lognormal(4.0, 1.0, 60)) + 1.0}
    frame = pd.DataFrame({**sizes, "device": rng.choice(["a", "b"], 60)})
    time_s = (1e-6 * frame["m"] * frame["n"] + 1e-4 * frame["m"] + 2e-3) * rng.lognormal(0.0, 0.1, 60)
    return frame, time_s.to_numpy()


def small_campaign(folder: Path) -> Path:
    """Three networks of the bundled campaign, and its small products."""
    shutil.copytree(bundled_path("cpu-epyc"), folder)
    whole = read_campaign(folder)
    for file in (folder / "cnns").glob("*.toml"):
        if file.stem not in NETWORKS:
            file.unlink()
    kept = {name: getattr(whole, name) for name in ("sgemm", "kernels", "steps")}
    kept["sgemm"] = kept["sgemm"][kept["sgemm"][["m", "n", "k"]].prod(axis=1) <= LARGEST_PRODUCT]
    for name in ("kernels", "steps"):
        kept[name] = kept[name][kept[name]["cnn"].isin(NETWORKS) & (kept[name]["subbatch_size"] <= 2)]
    for name, rows in kept.items():
        for stored in folder.glob(f"{name}.csv*"):
            stored.unlink()
        write_table(rows.reset_index(drop=True), folder / f"{name}.csv", name)
    return folder


def server_rows() -> pd.DataFrame:
    """Made-up updates a second of three networks on one to eight workers: min(N / (Z + S), 1 / S) and some noise."""
    rng = np.random.default_rng(9)
    rows = [
        (cnn, n, min(n / (think_s + service_s), 1.0 / service_s) * rng.lognormal(0.0, 0.03), 1e8 * service_s)
        for cnn, think_s, service_s in (("one", 0.1, 0.02), ("two", 0.2, 0.05), ("three", 0.3, 0.08))
        for n in range(1, 9)
    ]
    return pd.DataFrame(rows, columns=["cnn", "n_workers", "updates_per_s", "n_params"])


def quality_rows() -> pd.DataFrame:
    """Runs whose epochs grow with a power of the mini-batch and of the staleness."""
    rng = np.random.default_rng(3)
    size, age = np.exp(rng.uniform(1.5, 5.5, 30)), rng.uniform(0.8, 4.0, 30)
    epochs = 2.0 * size**0.4 * (1.0 + age) ** 0.8 * np.exp(0.05 * rng.standard_normal(30))
    return pd.DataFrame({"mean_minibatch_size": size, "staleness": age, "epochs_to_target": epochs})


def exchange_rows() -> pd.DataFrame:
    """Rings of 2 to 16 on machines of eight, with noise."""
    rng = np.random.default_rng(4)
    n_gpus, size = (each.ravel() for each in np.meshgrid([2.0, 4.0, 8.0, 16.0], 2.0 ** np.arange(12, 26, 2)))
    time_s = 2.0 * (n_gpus - 1.0) * (1e-5 + size / (n_gpus * 2e10)) * np.exp(0.05 * rng.standard_normal(len(size)))
    return pd.DataFrame({"n_nodes": np.ceil(n_gpus / 8.0), "n_gpus": n_gpus, "size_bytes": size, "exchange_s": time_s})


def step_rows() -> pd.DataFrame:
    """Steps of two devices on one to eight nodes of four: samples, a ring, leaving the node, and noise."""
    rng = np.random.default_rng(6)
    rows = pd.DataFrame(list(product([1, 2, 4, 8], [4, 16, 64], ["a", "b"])), columns=["n_nodes", "subbatch_size", "device"])
    n_gpus = 4.0 * rows["n_nodes"]
    step_s = (
        (1e-3 + 1e-3 * (rows["device"] == "b")) * rows["subbatch_size"]
        + 4e-3 * (n_gpus - 1) / n_gpus
        + 2e-3 * (rows["n_nodes"] > 1)
    )
    return rows.assign(n_gpus_per_node=4, step_s=step_s * np.exp(0.02 * rng.standard_normal(len(rows))))


def calibrated_rows() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Predictions of twelve jobs of two models, and what was measured: a tenth and a fifth more."""
    rng = np.random.default_rng(7)
    jobs = [f"job{number}" for number in range(12)]
    predicted = pd.DataFrame({"job": jobs, "model": ["x", "y"] * 6, "time_s": 10.0 + np.arange(12)})
    factor = np.where(predicted["model"] == "x", 1.1, 1.2) * np.exp(0.01 * rng.standard_normal(12))
    return predicted, pd.DataFrame({"job": jobs, "time_s": factor * predicted["time_s"]})


def parted_rows() -> pd.DataFrame:
    """Steps of one network by their parts, on one and two processes."""
    rng = np.random.default_rng(9)
    rows = pd.DataFrame([(n, b, r) for n in (1, 2) for b in (4, 8, 16, 32) for r in (1, 2)])
    rows.columns = ["n_gpus_per_node", "subbatch_size", "repeat"]
    noise = np.exp(0.01 * rng.standard_normal(len(rows)))
    forward_s = (2e-4 + 1e-4 * rows["subbatch_size"]) * (1.0 + 0.2 * (rows["n_gpus_per_node"] - 1)) * noise
    several = rows["n_gpus_per_node"] > 1
    fixed = {"cnn": "one", "n_nodes": 1, "overlap": 0, "input_overlap": 0, "dataset_size": 1000, "size_bytes": 4e5}
    parts = {"input_s": 1e-5 * rows["subbatch_size"], "forward_s": forward_s, "backward_s": 2.0 * forward_s, "optimizer_s": 1e-4}
    parts |= {"exchange_s": 7e-5 * several, "straggler_s": 1e-5 * several, "step_std_s": 1e-5}
    whole = parts["input_s"] + 3.0 * forward_s + 1e-4 + 8e-5 * several
    return rows.assign(**fixed, **parts, step_s=whole)


def parted_exchange() -> pd.DataFrame:
    """A ring of two and three."""
    n, size = (each.ravel() for each in np.meshgrid([2.0, 3.0], 2.0 ** np.arange(14, 22, 2)))
    return pd.DataFrame(
        {"n_nodes": 1, "n_gpus_per_node": n, "size_bytes": size, "exchange_s": 2.0 * (n - 1.0) * (1e-5 + size / 8e9)}
    )


def plan_rows() -> pd.DataFrame:
    """Two plans of a network that ships."""
    n_layers = layer_table(find_cnn("vgg11")).n_layers
    plans = ["/".join([each] * n_layers) for each in ("1x1x1", "2x1x2")]
    return pd.DataFrame({"cnn": "vgg11", "plan": plans, "n_replicas": [2, 1], "n_servers": [1, 0]})


def sweep() -> Any:
    """Kernels of one build at one size of the bundled contractions."""
    kernels = read_all_kernels(["contraction-epyc"])
    return kernels.sweep(kernels.settings[0])


def fitted() -> Iterator[tuple[str, Any]]:
    """A model of every kind."""
    frame, time_s = small_table()
    for name, model in (
        ("stepwise_ols", mlperf.StepwiseOLS(terms=TERMS, noise="relative")),
        ("nonnegative", NonNegativeOLS(terms=TERMS, n_draws=0)),
        ("log", LogOLS(terms=TERMS)),
        ("log_stepwise", LogStepwiseOLS(terms=TERMS)),
        ("censored_normal", CensoredNormal(terms=TERMS)),
        ("huber", HuberOLS(terms=TERMS)),
        ("quantile", QuantileOLS(terms=TERMS)),
        ("boosted_residual", BoostedResidual(NonNegativeOLS(terms=TERMS, n_draws=0), n_folds=3, max_iter=20)),
        ("form_average", FormAverage((("m * n",), ("1", "m * n"), ("m * n", "m"), ("1", "m * n", "m")))),
        ("recursive_least_squares", RecursiveLeastSquares()),
        ("scatter_local", ScatterLocal(["m*n", "m"], ["m", "n"])),
        ("ratio_local", RatioLocal(["m*n", "m"], ["m", "n"])),
    ):
        yield name, model.fit(frame[["m", "n"]] if name in ONLY_SIZES else frame, time_s)
    sgemm = read_campaign("cpu-epyc").table("sgemm")
    small = (sgemm["purpose"] == "grid") & (sgemm["trans"] == "NN") & (sgemm[["m", "n", "k"]].prod(axis=1) <= LARGEST_PRODUCT)
    yield "grid_local", GridLocal().fit(sgemm[small][["m", "n", "k", "trans"]], sgemm[small]["cpu_s"].to_numpy())
    with tempfile.TemporaryDirectory() as scratch:
        yield "system", mlperf.train(small_campaign(Path(scratch) / "campaign"), n_folds=2, seed=1)
    yield "table", mlperf.train(frame.assign(time_ms=1e3 * time_s), target="time_ms", terms=TERMS)
    yield "quality", fit_quality_table(quality_rows(), 0.9)
    yield "servers", fit_servers(server_rows(), features=("n_params",), provenance={"data_sha256": {}})
    yield "exchange", train_exchange(exchange_rows())
    yield "system-fit", train_system(step_rows(), factors=("device",))
    yield "constants", train_constants(LOOPS, latency_s=5e-6, bytes_per_s=6e9)
    yield "step-parts", train_parts(parted_rows(), parted_exchange())
    predicted, measured = calibrated_rows()
    yield "calibration", calibrate_tables(predicted, measured, on=["job"], by=["model"])
    kernels = sweep()
    few = kernels.rows(range(0, len(kernels.frame), 6))
    yield "kernels", train_kernels(few, features="swc-s", learner_name="linear", n_folds=3)


def said_by(name: str, model: Any) -> list[float]:
    """What a model of some kind predicts where this file asks it."""
    if name == "system":
        cnn = read_cnn(bundled_path("cpu-epyc") / "cnns" / f"{NETWORKS[0]}.toml")
        job = mlperf.JobSpec(dataset_size=1000, subbatch_size=2)
        found = mlperf.predict_epoch(model, cnn, find_machine("kfc"), job, n_nodes=[1, 2], closed="convolution")
        return np.concatenate([np.asarray(getattr(found, output), float) for output in OUTPUTS]).tolist()
    if name == "quality":
        return np.asarray(model.epochs([8.0, 20.0], [1.2, 1.8])).tolist()
    if name == "servers":
        asked = server_rows().assign(cnn=["one", "new"] * 12, one_worker_updates_per_s=4.0)
        found = model.predict(asked)
        return np.concatenate([found.updates_per_s, found.lower, found.upper]).tolist()
    if name == "system-fit":
        found = model.predict(step_rows())
        return np.concatenate([found.step_s, found.interval.lower, found.interval.upper]).tolist()
    if name == "constants":
        return predict_plans(model, plan_rows()).period_s.tolist()
    if name == "step-parts":
        found = model.predict(parted_rows())
        return np.concatenate([found.step_s, found.interval.lower]).tolist()
    if name == "calibration":
        return apply_calibration(model, calibrated_rows()[0]).to_frame().select_dtypes("number").to_numpy(float).ravel().tolist()
    if name == "exchange":
        return np.asarray(model.predict([1, 2, 3, 16, 64], [1e4, 1e5, 1e6, 1e7, 1e8])).tolist()
    if name == "kernels":
        return np.asarray(predict_kernels(model, sweep().rows(range(20))).predicted_s).tolist()
    if name == "grid_local":
        return np.asarray(model.predict([3.0, 8.0, 20.0], [5.0, 4.0, 8.0], [7.0, 4.0, 9.0], ["NN"] * 3)).tolist()
    rows = small_table()[0]
    if name == "recursive_least_squares":
        return np.asarray(model.predict(rows[["m", "n"]].to_numpy()), float).tolist()
    return np.asarray(model.predict(rows[["m", "n"]] if name in ONLY_SIZES else rows), float).tolist()


def kept_text(model: Any, place: Path) -> str:
    """Text of its file, without the words on where and when it was made."""
    mlperf.save_model(model, place)
    document = json.loads(place.read_text(encoding="utf-8"))
    if "provenance" in document:
        document["provenance"] = {"data_sha256": document["provenance"]["data_sha256"]}
    return json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def main(folder: Path) -> None:
    """Write every model, packed, and ``predictions.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {}
    for name, model in fitted():
        with tempfile.TemporaryDirectory() as scratch:
            text = kept_text(model, Path(scratch) / "model.json")
        (folder / f"{name}.json.xz").write_bytes(lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))
        said[name] = said_by(name, model)
    (folder / "predictions.json").write_text(json.dumps(said, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
