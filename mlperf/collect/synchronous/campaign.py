"""One call that trains synchronously in every setting, into runs.csv and exchange.csv: `train_synchronously`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.collect.backends.backends import numpy_backend
from mlperf.collect.campaign.machine import store_machine
from mlperf.collect.campaign.run import store_cnns
from mlperf.collect.protocol.asked import ASKED, same_asked
from mlperf.collect.protocol.clocks import load_average, require_clocks
from mlperf.collect.protocol.host import FILE_NAME, check_same, host_record, write_host
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.collect.synchronous.batches import samples_of
from mlperf.collect.synchronous.job import DdpJob, wait_key
from mlperf.collect.synchronous.request import (
    EMULATED,
    FP32_BYTES,
    PLACE,
    REAL,
    START_S,
    DdpRequest,
    check_request,
    exchange_sizes,
    settings_of,
)
from mlperf.collect.synchronous.rows import exchange_row, parts_of_steps, run_row
from mlperf.collect.synchronous.steps import EXCHANGE_S
from mlperf.collect.synchronous.summary import SynchronousRuns
from mlperf.collect.synchronous.waited import WAITED
from mlperf.collect.trainer.job import write_job
from mlperf.collect.trainer.launch import mpiexec_command, run_ranks
from mlperf.collect.trainer.samples import Samples, digits_cnn
from mlperf.core.errors import MlperfError, UsageError
from mlperf.core.extras import require
from mlperf.core.files import replacing
from mlperf.core.places import make_folder
from mlperf.core.progress import shown_progress
from mlperf.datasets.dictionary.synchronous_schema import OWN_TABLES
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import cnn_to_dict

FOLDER = "ddp"
RANK = "mlperf.collect.synchronous.rank"
SHOWN = ("mode", "cnn", "n_gpus_per_node", "subbatch_size", "repeat", "step_s", "forward_s", "backward_s", "exchange_s")


@dataclass(frozen=True, slots=True)
class Launch:
    """Ranks that are started once: what is still to run on so many processes in one repeat."""

    n_processes: int
    repeat: int
    settings: tuple[tuple[str, int], ...]
    exchange_bytes: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Study:
    """What all launches of one call share."""

    request: DdpRequest
    cnns: Mapping[str, CnnSpec]
    dataset_sizes: Mapping[str, int]
    launcher: list[str]
    runs: GrowingTable
    exchanges: GrowingTable
    rows: list[dict[str, Any]] = field(default_factory=list)
    n_exchanges: int = 0
    n_diverged: int = 0

    @property
    def folder(self) -> Path:
        """Where everything behind the tables goes."""
        return self.request.out / FOLDER


def train_synchronously(request: DdpRequest, *, show_progress: bool = False) -> SynchronousRuns:
    """Train data-parallel on several processes of this machine, and measure every part of the step and the exchange alone.

    Parameters
    ----------
    request : DdpRequest
        What to run; settings that the folder holds often enough are not run again.
    show_progress : bool
        Whether the expected time and a bar are drawn on stderr.

    Returns
    -------
    SynchronousRuns
        The runs of this call. ``runs.csv`` gets a row a run, ``exchange.csv`` one for each size and number of processes.

    Raises
    ------
    MissingExtraError
        mpi4py, mpiexec, or torch where it is the engine, is absent.
    UsageError, DataError
        The request contradicts itself, the data do not fit, or no steps of one process were measured for a wait.
    InterruptedRun
        A process was killed or failed, or Ctrl-C; finished runs are in the tables.
    """
    check_request(request)
    require_clocks()
    study = prepare(request)
    todo, n_before = launches_to_run(study)
    with shown_progress(show_progress) as progress:
        if todo:
            progress.announce(f"about {expected_s(request, todo):.0f} s: {sum(len(each.settings) for each in todo)} runs")
        progress.start("ddp", len(todo))
        for launch in todo:
            run_launch(study, launch)
            progress.advance()
    runs = pd.DataFrame(study.rows, columns=list(SHOWN))
    return SynchronousRuns(str(request.out), runs, n_before, study.n_exchanges, study.n_diverged)


def prepare(request: DdpRequest) -> Study:
    """Find the launcher, write the data, networks and the machine."""
    launcher = mpiexec_command(request.mpiexec)
    if request.engine == "torch":
        require("torch", "torch")
    cnns = request.cnns or (digits_cnn(),)
    out, record = request.out, host_record({"seed": request.seed, FOLDER: protocol(request)}, {})
    check_same(out / FILE_NAME, record, OWN_TABLES)
    samples = {cnn.name: samples_of(cnn, request.data, request.seed) for cnn in cnns}
    record["protocol"][FOLDER][ASKED] = asked_of(request, samples)
    store_cnns(out / "cnns", cnns)
    write_host(out / FILE_NAME, record)
    with numpy_backend() as backend:
        store_machine(out, backend)
    make_folder(out / FOLDER)
    for name, each in samples.items():
        with replacing(out / FOLDER / f"samples-{name}.npz") as stream:
            np.savez(stream, images=each.images, labels=each.labels)
    runs, exchanges = (GrowingTable(out, name, OWN_TABLES) for name in ("runs", "exchange"))
    sizes = {name: each.size for name, each in samples.items()}
    return Study(request, {cnn.name: cnn for cnn in cnns}, sizes, launcher, runs, exchanges)


def asked_of(request: DdpRequest, samples: Mapping[str, Samples]) -> dict[str, Any]:
    """With which options runs of each setting are made, those of earlier calls included; other options are refused."""
    options = {"--seconds": request.run_s, "--learning-rate": request.learning_rate, "--momentum": request.momentum}
    own = {
        setting_words(request.mode(count), request.engine_name, cnn, count, size): options | {"--data": each.name}
        for (cnn, each), count, size in product(samples.items(), request.n_processes, request.subbatch_sizes)
    }
    names = ("mode", "engine", "cnn", "n_gpus_per_node", "subbatch_size")
    made = {setting_words(*(row[name] for name in names)) for row in GrowingTable(request.out, "runs", OWN_TABLES).rows()}
    return same_asked(request.out, FOLDER, own, made)


def setting_words(mode: str, engine: str, cnn: str, n_processes: int | str, subbatch_size: int | str) -> str:
    """A setting as host.json names it."""
    return f"{mode}, {engine}, {cnn} on {n_processes} at sub-batch {subbatch_size}"


def protocol(request: DdpRequest) -> dict[str, Any]:
    """What host.json says of how it was measured."""
    return {
        "clock": "perf_counter, elapsed time, one BLAS thread a process",
        "exchange": "blocking all-reduce; with more processes than cores non-blocking, tested with sched_yield in between",
        "isolated exchange": "behind other data where processes compute, right behind the last where they wait",
        "waits": "input, forward, backward and optimizer of whole measured steps of one process, drawn and slept",
        "run_s": request.run_s,
    }


def launches_to_run(study: Study) -> tuple[list[Launch], int]:
    """Launches with something left to do, settings of each in random order, and how many runs there are already."""
    request, engine = study.request, study.request.engine_name
    have = {
        (row["mode"], row["engine"], row["cnn"], int(row["n_gpus_per_node"]), int(row["subbatch_size"]), int(row["repeat"]))
        for row in study.runs.rows()
    }
    known = {
        (row["engine"], int(row["n_gpus_per_node"]), int(row["size_bytes"]), int(row["repeat"])) for row in study.exchanges.rows()
    }
    todo, n_before = [], 0
    settings, asked = settings_of(request, tuple(study.cnns.values())), exchange_sizes(request, tuple(study.cnns.values()))
    for repeat in range(1, request.repeats + 1):
        # One process comes first: its steps are what emulated ones wait for.
        for count in sorted(request.n_processes):
            mode = request.mode(count)
            order = np.random.default_rng((request.seed, repeat, count)).permutation(len(settings)).tolist()
            left = [
                settings[place]
                for place in order
                if (mode, engine, settings[place][0], count, settings[place][1], repeat) not in have
            ]
            sizes = tuple(size for size in asked if count > 1 and (engine, count, size, repeat) not in known)
            n_before += len(settings) - len(left)
            if left or sizes:
                todo.append(Launch(count, repeat, tuple(left), sizes))
    return todo, n_before


def expected_s(request: DdpRequest, todo: list[Launch]) -> float:
    """Seconds that launches will take, roughly."""
    n_runs, n_sizes = sum(len(each.settings) for each in todo), sum(len(each.exchange_bytes) for each in todo)
    return len(todo) * START_S + n_runs * request.run_s * 1.1 + n_sizes * EXCHANGE_S


def run_launch(study: Study, launch: Launch) -> None:
    """Start the ranks, and bring what they have finished into the tables whether or not they came to their end."""
    folder = study.folder / "launch"
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    job, load = make_job(study, launch), load_average()
    write_job(job, folder)
    try:
        run_ranks(study.launcher, launch.n_processes, folder, RANK)
    except MlperfError:
        store_finished(study, launch, folder, load)
        raise
    store_finished(study, launch, folder, load)
    shutil.rmtree(folder)


def make_job(study: Study, launch: Launch) -> DdpJob:
    """The job of one launch."""
    request = study.request
    waits = request.mode(launch.n_processes) == EMULATED
    return DdpJob(
        cnns={name: cnn_to_dict(cnn) for name, cnn in study.cnns.items()},
        settings=launch.settings,
        engine=request.engine_name,
        n_processes=launch.n_processes,
        repeat=launch.repeat,
        run_s=request.run_s,
        waits={wait_key(*setting): rounds_of(study, *setting) for setting in launch.settings} if waits else {},
        emulated=waits,
        exchange_bytes=launch.exchange_bytes,
        yields=launch.n_processes > (os.cpu_count() or 1),
        learning_rate=request.learning_rate,
        momentum=request.momentum,
        limit_s=request.limit_s,
        seed=request.seed,
    )


def rounds_path(study: Study, cnn: str, subbatch_size: int) -> Path:
    """Where the steps of one process are kept that others wait for."""
    return study.folder / f"steps-{study.request.engine}-{cnn}-{subbatch_size}.npz"


def rounds_of(study: Study, cnn: str, subbatch_size: int) -> dict[str, list[float]]:
    """Measured steps of one process, by part.

    Raises
    ------
    UsageError
        There are none.
    """
    path = rounds_path(study, cnn, subbatch_size)
    if not path.exists():
        raise UsageError(
            f"got no measured steps of one process with {cnn} at sub-batch {subbatch_size} to wait for",
            place=PLACE,
            hint="Add 1 to --processes, without --wait always.",
        )
    with np.load(path) as stored:
        return {part: stored[part].tolist() for part in WAITED}


def store_finished(study: Study, launch: Launch, folder: Path, load: float) -> None:
    """Rows of every setting and every exchange that the ranks have finished."""
    engine = study.request.engine_name
    counts = {"engine": engine, "n_nodes": 1, "n_gpus_per_node": launch.n_processes, "repeat": launch.repeat}
    for size in launch.exchange_bytes:
        path = folder / f"exchange-{size}.npz"
        if path.exists():
            with np.load(path) as stored:
                study.exchanges.add([counts | {"size_bytes": size} | exchange_row(stored["times_s"])])
            study.n_exchanges += 1
    for cnn, subbatch_size in launch.settings:
        path = folder / f"run-{cnn}-{subbatch_size}.npz"
        if path.exists():
            with np.load(path) as stored:
                found = dict(stored)
            store_run(study, launch, counts | {"cnn": cnn, "subbatch_size": subbatch_size, "load": load}, found)
    study.exchanges.flush()
    study.runs.flush()


def store_run(study: Study, launch: Launch, counts: dict[str, Any], found: dict[str, Any]) -> None:
    """The row of one run; of one process that really computed also its steps, to be waited for."""
    mode, n_params = study.request.mode(launch.n_processes), study.cnns[counts["cnn"]].n_params
    told = {
        "mode": mode,
        "overlap": 0,
        "input_overlap": 0,
        "n_params": n_params,
        "size_bytes": FP32_BYTES * n_params,
        "dataset_size": study.dataset_sizes[counts["cnn"]],
        "overshoot_s": max(float(np.median(found["overshoot_s"])), 0.0),
        "loss": float(found["loss"].mean()),
    }
    row = counts | told | run_row(found["marks_s"])
    study.runs.add([row])
    study.n_diverged += not np.isfinite(row["loss"])
    study.rows.append({name: row[name] for name in SHOWN})
    if launch.n_processes == 1 and mode == REAL:
        keep_rounds(rounds_path(study, counts["cnn"], counts["subbatch_size"]), found["marks_s"])


def keep_rounds(path: Path, marks_s: Any) -> None:
    """Add the steps of one process to those that are kept."""
    parts = parts_of_steps(marks_s)
    before: dict[str, Any] = {}
    if path.exists():
        with np.load(path) as stored:
            before = dict(stored)
    with replacing(path) as stream:
        both: dict[str, Any] = {part: np.concatenate([before.get(part, np.zeros(0)), parts[part]]) for part in WAITED}
        np.savez(stream, **both)
