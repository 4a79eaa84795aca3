"""Folders of a reader who has tables: measured steps, exchanges and servers, features of kernels, streams, and their models."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

import mlperf
from mlperf.planning.calibration.foreign import calibrate_tables
from mlperf.training.systems.by_system import train_for_system
from mlperf.training.systems.train_system import train_system

TESTS = Path(__file__).parents[1]
PARALLEL = TESTS / "reference" / "parallel"
PARTITION = TESTS / "reference" / "partition"
ASSEMBLY = TESTS / "reference" / "assembly"
N_KERNELS = 36


def kernel_tables(folder: Path) -> None:
    """Times of some kernels of three devices with two feature tables, and models of them."""
    rng = np.random.default_rng(0)
    kernels = [f"k{number:02}" for number in range(N_KERNELS)]
    frame = pd.DataFrame(2 ** rng.integers(3, 9, (N_KERNELS, 3)), columns=list("mnk")).assign(kernel=kernels)
    frame = frame.assign(device=["A", "B", "C"] * (N_KERNELS // 3), network=["u", "v"] * (N_KERNELS // 2))
    frame = frame.assign(family=rng.integers(0, 12, N_KERNELS).astype(str))
    frame = frame.assign(**{name: rng.random(N_KERNELS) for name in "abc"})
    counts = pd.DataFrame({"kernel": kernels, "n_insn": rng.integers(10, 99, N_KERNELS)})
    nests = pd.DataFrame({"kernel": kernels, "misses": rng.integers(1, 200, N_KERNELS)})
    noise = np.exp(0.02 * rng.standard_normal(N_KERNELS))
    times = (1e-5 + 2e-11 * frame["m"] * frame["n"] * frame["k"] + 1e-8 * nests["misses"]) * noise
    frame.assign(time_ms=1e3 * times, time_s=times).to_csv(folder / "times.csv", index=False)
    frame.assign(time_ms=1e3 * times).to_csv(folder / "measured.csv", index=False)
    frame.to_csv(folder / "new.csv", index=False)
    for name, table in (("counts", counts), ("nests", nests), ("new-counts", counts), ("new-nests", nests)):
        table.to_csv(folder / f"{name}.csv", index=False)
    times_predicted = frame[["kernel", "device", "network"]].assign(time_ms=1.2e3 * times)
    times_predicted.to_csv(folder / "predicted.csv", index=False)
    found = calibrate_tables(times_predicted, frame[["kernel"]].assign(time_ms=1e3 * times), by=("device",))
    mlperf.save_model(found, folder / "calibration.json")
    known = mlperf.train(frame.assign(time_ms=1e3 * times), target="time_ms", terms=["m*n*k"], method="ols")
    mlperf.save_model(known, folder / "table-model.json")


def joined_tables(folder: Path) -> None:
    """As `kernel_tables`, where the models are of joined tables."""
    kernel_tables(folder)
    features = [folder / "nests.csv", folder / "counts.csv"]
    found = mlperf.train(folder / "times.csv", target="time_s", join=features, on="kernel", method="ols")
    for name in ("model.json", "table-model.json"):
        mlperf.save_model(found, folder / name)


def own_tables(folder: Path) -> None:
    """As `kernel_tables`, where ``model.json`` is a model of the table; counters, a sweep of two sizes."""
    kernel_tables(folder)
    shutil.copy(folder / "table-model.json", folder / "model.json")
    rng = np.random.default_rng(1)
    kernels = pd.read_csv(folder / "times.csv")["kernel"]
    names = ("cg_Ir", "cg_Dr", "cg_Dw", "cg_D1mr", "cg_DLmr", "cg_Bcm")
    counted = pd.DataFrame({"kernel": kernels, **{name: rng.integers(10**4, 10**6, len(kernels)) for name in names}})
    counted.to_csv(folder / "features.csv", index=False)
    sweep = folder / "sweep"
    sweep.mkdir()
    times = pd.read_csv(folder / "times.csv")
    for table, columns in (("times", ["kernel", "family", "time_s"]), ("swc-s", ["kernel"])):
        parts = [times[columns].assign(N=size, misses=rng.integers(1, 200, N_KERNELS) * size) for size in (50, 100)]
        frame = pd.concat(parts).rename(columns={"time_s": "time_mean_s", "family": "swap_group"})
        frame.drop(columns="misses" if table == "times" else []).to_csv(sweep / f"{table}.csv", index=False)
    wide = pd.read_csv(sweep / "times.csv")
    wide[wide["N"] == 50].drop(columns="N").to_csv(sweep / "times-50.csv", index=False)


def recorded_steps(folder: Path) -> None:
    """What ``mlperf record table`` writes of twelve runs."""
    rng = np.random.default_rng(2)
    rows = [(f"run{number}", batch, batch * 0.002 + 0.01) for number, batch in enumerate((4, 8, 12, 16, 24, 32) * 2)]
    frame = pd.DataFrame(rows, columns=["run", "batch", "step_s"])
    frame["step_s"] *= np.exp(0.01 * rng.standard_normal(len(frame)))
    frame.to_csv(folder / "steps.csv", index=False)


def own_steps(folder: Path) -> None:
    """Measured steps of data-parallel training of two devices, an exchange, servers, and a model of each."""
    counts, sizes = (1, 2, 4, 8, 16, 32), (16, 32, 64)
    rows = [(gpus, size, 8, 30 + 2.0 * size + 40 * (gpus > 8), device) for gpus in counts for size in sizes for device in "AB"]
    steps = pd.DataFrame(rows, columns=["n_gpus", "subbatch_size", "n_gpus_per_node", "step_ms", "device"])
    steps.to_csv(folder / "steps.csv", index=False)
    found = train_system(steps.drop(columns="device"), "data-parallel")
    for name in ("model.json", "steps-model.json"):
        mlperf.save_model(found, folder / name)
    nodes = np.repeat([1, 2, 4, 8, 16, 32], 6)
    size = np.tile(2.0 ** np.arange(16, 28, 2), 6)
    exchange = 2e-5 * np.log2(2 * nodes) + 2 * (nodes - 1) / nodes * size / 5e9
    table = {"n_nodes": nodes, "n_gpus_per_node": 1, "size_bytes": size.astype(int), "exchange_s": exchange}
    pd.DataFrame(table).query("n_nodes > 1").to_csv(folder / "allreduce.csv", index=False)
    workers = np.array([1, 2, 4, 8, 12, 16])
    speeds = pd.DataFrame({"n_workers": workers, "n_servers": 1, "steps_per_s": 1 / np.maximum(0.2 / workers, 0.03)})
    speeds.to_csv(folder / "speeds.csv", index=False)


def parallel_runs(folder: Path) -> None:
    """Runs of synchronous training and of parameter servers that were measured, and models of them."""
    shutil.copytree(PARALLEL / "synchronous" / "runs", folder / "runs")
    for name in ("runs.csv", "exchange.csv"):
        shutil.copy(folder / "runs" / name, folder / name)
    configurations = pd.read_csv(folder / "runs.csv")[["mode", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size", "size_bytes"]]
    configurations.drop_duplicates().to_csv(folder / "configurations.csv", index=False)
    shutil.copytree(PARALLEL / "servers" / "constants", folder / "constants")
    constants = train_for_system(folder / "constants", "model-parallel", latency_s=5e-6, bytes_per_s=6e9)
    mlperf.save_model(constants, folder / "constants.json")
    runs = PARALLEL / "servers" / "runs"
    shutil.copy(runs / "cnns" / "digits-fc.toml", folder / "mine.toml")
    plans = pd.read_csv(runs / "ps_runs.csv").query("cnn == 'digits-fc'")
    plans.to_csv(folder / "ps_runs.csv", index=False)
    plans[["cnn", "plan", "n_replicas", "n_servers", "exchange", "minibatch_size"]].to_csv(folder / "plans.csv", index=False)


def plans_of_servers(folder: Path) -> None:
    """A cluster's constants and a network of one's own, for ``mlperf optimize``."""
    shutil.copy(PARTITION / "cluster.toml", folder / "cluster.toml")
    shutil.copy(PARTITION / "mnist.toml", folder / "mine.toml")


def codes(folder: Path) -> None:
    """Kernels in C and as a compiler wrote them, counters of a program, a stream of counters."""
    kernels = folder / "kernels"
    kernels.mkdir()
    for path in (ASSEMBLY / "sources").glob("k_*.c"):
        shutil.copy(path, kernels)
    compiled = ASSEMBLY / "clang14_O2_sse3_fast_N50" / "k_li_kji_lkj.s"
    shutil.copy(compiled, kernels)
    sweep = folder / "sweep" / "N40"
    (sweep / "gcc_O2_sse3_fast").mkdir(parents=True)
    shutil.copy(compiled, sweep / "gcc_O2_sse3_fast")
    shutil.copy(kernels / "k_li_kji_lkj.c", sweep)
    for build, name, source in (("build1", "k.o", "misc_a.o"), ("build2", "k.txt", "misc_a.objdump-att.txt")):
        (folder / build).mkdir()
        shutil.copy(ASSEMBLY / "gcc12_O2" / source, folder / build / name)
    shutil.copy(ASSEMBLY / "gcc12_O2" / "misc_a.o", folder / "kernels.o")
    shutil.copy(ASSEMBLY / "sources" / "misc_a.c", folder / "matvec.c")
    rng = np.random.default_rng(0)
    for name in ("stream", "run1", "run2"):
        rate = 400.0 * np.exp(0.1 * rng.standard_normal(240))
        columns = {"t_s": 0.25 * np.arange(240), "units": np.cumsum(rate * 0.25), "ctxt": np.cumsum(rng.integers(10, 99, 240))}
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
