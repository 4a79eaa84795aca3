"""One call that trains for real in every setting, into the tables of a campaign folder: `train_asynchronously`."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.collect.campaign.run import store_cnns
from mlperf.collect.protocol.asked import ASKED, same_asked
from mlperf.collect.protocol.clocks import load_average, require_clocks
from mlperf.collect.protocol.host import FILE_NAME, check_same, host_record, write_host
from mlperf.collect.protocol.network import NETWORK, check_same_network, network_waited
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.collect.trainer.accuracy import epoch_table
from mlperf.collect.trainer.job import Job, write_job
from mlperf.collect.trainer.launch import mpiexec_command, run_ranks
from mlperf.collect.trainer.records import RULE, Records, read_records, store_records
from mlperf.collect.trainer.request import WAITED, AsgdRequest, check_request
from mlperf.collect.trainer.rounds import gradient_rounds, memory_rounds
from mlperf.collect.trainer.rows import (
    check_finite_losses,
    check_long_enough,
    component_times,
    details,
    histograms,
    run_outputs,
    setting_of,
)
from mlperf.collect.trainer.samples import Samples, check_fits, digits_cnn, find_samples
from mlperf.collect.trainer.shards import write_shards
from mlperf.collect.trainer.summary import RunSummary, Trained
from mlperf.core.errors import MlperfError
from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.core.progress import shown_progress
from mlperf.datasets.campaigns.campaign import Campaign, read_campaign
from mlperf.datasets.campaigns.write import write_table
from mlperf.datasets.dictionary.trainer_schema import FOLDER, TRAINER_TABLES
from mlperf.datasets.reading.read import read_table
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import cnn_to_dict

Setting = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What all runs of one call share.

    Attributes
    ----------
    request : AsgdRequest
        What was asked for.
    cnn : CnnSpec
        The network.
    samples : Samples or None
        What it is trained on; None where gradients are waited for.
    rounds : Campaign or None
        Where waits are drawn from.
    launcher : list of str
        mpiexec.
    """

    request: AsgdRequest
    cnn: CnnSpec
    samples: Samples | None
    rounds: Campaign | None
    launcher: list[str]

    @property
    def folder(self) -> Path:
        """Where everything behind the tables goes."""
        return self.request.out / FOLDER


def train_asynchronously(request: AsgdRequest, *, show_progress: bool = False) -> Trained:
    """Run Algorithms 1 and 2 of Oyama et al. with MPI ranks as nodes and threads as GPUs, and measure every component.

    Parameters
    ----------
    request : AsgdRequest
        What to run; settings that the folder holds often enough are not run again.
    show_progress : bool
        Whether a bar with the remaining time is drawn on stderr.

    Returns
    -------
    Trained
        One summary a run. The tables ``components.csv`` and ``runs.csv`` get a row a run; ``asgd/`` gets ``details.csv``,
        ``histograms.csv``, ``epochs.csv``, and for each run a folder with all its iterations.

    Raises
    ------
    MissingExtraError
        mpi4py or mpiexec is absent.
    UsageError, DataError
        The request contradicts itself, the data do not fit the network, or no rounds were measured for a wait.
    InterruptedRun
        A rank was killed or failed, or Ctrl-C; finished runs are in the tables, what the broken one wrote lies in its folder.

    References
    ----------
    Oyama et al. (SPRINT), Algorithms 1 and 2, Tables 3 and 4.
    """
    check_request(request)
    require_clocks()
    study = prepare(request)
    todo, n_before = settings_to_run(request, study.cnn)
    record = machine_record(study)
    check_same(request.out / FILE_NAME, record, ("components", "runs"))
    record["protocol"][FOLDER][ASKED] = asked_of(study)
    if NETWORK in request.waits:
        check_same_network(request.out, FOLDER, request.network)
    store_cnns(request.out / "cnns", [study.cnn])
    write_host(request.out / FILE_NAME, record)
    with shown_progress(show_progress) as progress:
        progress.start("asgd", len(todo))
        done = []
        for setting in todo:
            done.append(run_setting(study, setting))
            progress.advance()
    return Trained(str(request.out), RULE, tuple(done), n_before)


def prepare(request: AsgdRequest) -> Study:
    """Find the launcher, read the data or the measured rounds."""
    launcher = mpiexec_command(request.mpiexec)
    cnn = request.cnn or digits_cnn()
    if request.waits:
        return Study(request, cnn, None, read_campaign(request.rounds_from or request.out), launcher)
    samples = find_samples(request.data or "digits", request.seed)
    check_fits(samples, cnn, max(request.n_nodes))
    return Study(request, cnn, samples, None, launcher)


def asked_of(study: Study) -> dict[str, Any]:
    """With which options runs of each setting are made, those of earlier calls included; other options are refused."""
    request = study.request
    options: dict[str, Any] = {"--epochs": request.epochs, "--updates": request.max_updates}
    if study.samples is None:
        rounds = "" if study.rounds is None else study.rounds.name
        options |= {"--dataset-size": request.dataset_size, "--rounds-from": rounds, "--backend": request.backend}
    else:
        options |= {"--data": study.samples.name, "--learning-rate": request.learning_rate, "--momentum": request.momentum}
        options |= {"--shift": request.shift, "--scale": request.scale}
    own = [setting_words(request.mode, study.cnn.name, *map(str, setting)) for setting in settings_of(request)]
    names = ("mode", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size")
    made = {setting_words(*(row[name] for name in names)) for row in GrowingTable(request.out, "runs").rows()}
    return same_asked(request.out, FOLDER, dict.fromkeys(own, options), made)


def setting_words(mode: str, cnn: str, n_nodes: str, n_gpus_per_node: str, subbatch_size: str) -> str:
    """A setting as host.json names it."""
    return f"{mode}, {cnn} on {n_nodes} x {n_gpus_per_node} at sub-batch {subbatch_size}"


def settings_of(request: AsgdRequest) -> list[Setting]:
    """Every combination that is asked for."""
    return list(product(request.n_nodes, request.n_gpus_per_node, request.subbatch_sizes))


def settings_to_run(request: AsgdRequest, cnn: CnnSpec) -> tuple[list[Setting], int]:
    """Settings that are still to run, each repeat in an order of its own, and how many runs there are already."""
    settings = settings_of(request)
    rows = GrowingTable(request.out, "runs").rows()
    found = Counter(
        (int(row["n_nodes"]), int(row["n_gpus_per_node"]), int(row["subbatch_size"]))
        for row in rows
        if (row["mode"], row["cnn"]) == (request.mode, cnn.name)
    )
    todo = []
    for repeat in range(request.repeats):
        order = np.random.default_rng((request.seed, repeat)).permutation(len(settings))
        todo += [settings[index] for index in order.tolist() if found[settings[index]] <= repeat]
    return todo, sum(min(found[setting], request.repeats) for setting in settings)


def run_setting(study: Study, setting: Setting) -> RunSummary:
    """One run: shards, ranks, records, rows."""
    run = next_run(study.folder)
    folder = study.folder / f"run-{run:04d}"
    make_folder(study.folder)
    make_folder(folder)
    job = make_job(study, setting, run)
    if study.samples is not None:
        write_shards(study.samples, job.n_nodes, folder / job.shards, study.request.seed)
    write_job(job, folder)
    load = load_average()
    try:
        run_ranks(study.launcher, job.n_nodes, folder)
    except MlperfError as error:
        keep_broken(job, folder, error)
        raise
    records = read_records(job, folder)
    store_records(records, folder)
    if study.samples is not None:
        check_finite_losses(records, str(folder))
    check_long_enough(records, str(folder))
    return write_rows(study, job, run, folder, records, load)


def next_run(folder: Path) -> int:
    """Number after the highest that the folder holds, broken runs included."""
    return max((int(path.name.removeprefix("run-")) for path in folder.glob("run-*")), default=0) + 1


def make_job(study: Study, setting: Setting, run: int) -> Job:
    """The job of one run."""
    request = study.request
    n_nodes, n_gpus_per_node, subbatch_size = setting
    dataset_size = request.dataset_size if study.samples is None else study.samples.size
    return Job(
        cnn=cnn_to_dict(study.cnn),
        n_nodes=n_nodes,
        n_gpus_per_node=n_gpus_per_node,
        subbatch_size=subbatch_size,
        seed=int(np.random.SeedSequence((request.seed, run)).generate_state(1)[0]),
        learning_rate=request.learning_rate,
        momentum=request.momentum,
        max_updates=request.max_updates,
        max_samples=request.epochs * dataset_size,
        dataset_size=dataset_size,
        shift=request.shift,
        scale=request.scale,
        lockstep=request.lockstep,
        delay=request.delay,
        waits={name: [each * request.time_scale for each in rounds] for name, rounds in rounds_of(study, setting).items()},
        shards="" if study.samples is None else f"../shards/{study.cnn.name}-{n_nodes}",
        limit_s=request.limit_s,
        exchange=request.network.exchange if NETWORK in request.waits else "",
    )


def rounds_of(study: Study, setting: Setting) -> dict[str, list[float]]:
    """Durations to draw from, for every component that is waited for."""
    n_nodes, _, subbatch_size = setting
    request, campaign, n_params = study.request, study.rounds, study.cnn.n_params
    if campaign is None:
        return {}
    found: dict[str, list[float]] = {}
    if "gradient" in request.waits:
        found |= gradient_rounds(campaign, study.cnn, subbatch_size, request.backend)
    if "memory" in request.waits:
        found |= memory_rounds(campaign, n_params, n_nodes)
    if NETWORK in request.waits:
        found["allreduce"] = [request.network.allreduce_s(n_params, n_nodes)]
    return found


def write_rows(study: Study, job: Job, run: int, folder: Path, records: Records, load: float) -> RunSummary:
    """The run's rows in every table."""
    setting, outputs = setting_of(job, run, study.request.mode), run_outputs(job, records)
    explained = details(job, records, os.cpu_count() or 1) | {"load": load}
    quality = {"loss": float("nan"), "test_accuracy": float("nan")}
    named = {"run": run, "mode": study.request.mode}
    if study.samples is not None:
        epochs = epoch_table(job, records, study.samples, folder / "weights.npz")
        quality = {name: float(epochs[name].iloc[-1]) for name in quality}
        append(study, "epochs", named, epochs)
    append(study, "histograms", named, histograms(job, records))
    append(study, "details", named, pd.DataFrame([explained]))
    for name, row in (("components", component_times(job, records)), ("runs", outputs)):
        table = GrowingTable(study.request.out, name)
        table.add([setting | row])
        table.flush()
    known: dict[str, Any] = setting | outputs | explained | quality
    return RunSummary(**{field.name: known[field.name] for field in fields(RunSummary)})


def append(study: Study, name: str, named: dict[str, Any], rows: pd.DataFrame) -> None:
    """Add rows to a table of the trainer, with the run and its mode in front."""
    schema, added = TRAINER_TABLES[name], pd.DataFrame(named, index=rows.index).join(rows)
    path = study.request.out / f"{schema.stem}.csv"
    parts = [read_table(path, schema, "keep"), added] if path.exists() else [added]
    write_table(pd.concat(parts, ignore_index=True), path, schema)


def keep_broken(job: Job, folder: Path, error: MlperfError) -> None:
    """Turn what a broken run has written into its tables, and say beside them that and why it broke off."""
    records = read_records(job, folder)
    store_records(records, folder)
    said = {"complete": False, "reason": error.message, "n_updates": int((records.updates["node"] == 0).sum())}
    write_text_whole(folder / "broken.json", json.dumps(said | {"n_iterations": len(records.gpu)}, indent=2) + "\n")


def machine_record(study: Study) -> dict[str, Any]:
    """What host.json says; where memory operations are waited for, caches are those of the machine that they were measured on."""
    record = host_record({"seed": study.request.seed, FOLDER: protocol(study)}, {})
    if study.rounds is not None and "memory" in study.request.waits:
        measured = study.rounds.told("host")
        record["host"] |= {"cache_bytes": measured.get("cache_bytes", record["host"]["cache_bytes"])}
    return record


def protocol(study: Study) -> dict[str, Any]:
    """What host.json says of how it was measured."""
    request = study.request
    return {
        "mode": request.mode,
        "clock": "perf_counter, elapsed time",
        "left_out": RULE,
        "poll": "non-blocking collectives, tested every 250 us; normal priority",
        "data": study.samples.name if study.samples else f"rounds of {study.rounds.name}" if study.rounds else "",
        "waits": {part: list(WAITED[part]) for part in request.waits},
        "network": asdict(request.network),
        "network_waited": asdict(request.network) if NETWORK in request.waits else network_waited(request.out, FOLDER),
    }
