"""One call that runs every configuration and writes a row for each: `run_servers`."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf import __version__
from mlperf.collect.campaign.run import store_cnns
from mlperf.collect.protocol.asked import ASKED, same_asked
from mlperf.collect.protocol.clocks import load_average, require_clocks
from mlperf.collect.protocol.host import FILE_NAME, check_same, host_record, write_host
from mlperf.collect.protocol.network import NETWORK, check_same_network, network_waited
from mlperf.collect.protocol.protocol import interruptible
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.collect.servers.configuration import Configuration, check_configuration
from mlperf.collect.servers.data import Images, digits_for
from mlperf.collect.servers.job import DATA, Run, write_job
from mlperf.collect.servers.learning import accuracy, go_on
from mlperf.collect.servers.net import Net, net_of
from mlperf.collect.servers.request import ServersRequest, check_request
from mlperf.collect.servers.rows import delay_of, final_weights, measured, setting_of, updates_left
from mlperf.collect.servers.summary import ServerRuns
from mlperf.collect.servers.waits import measure_segments, waits_of, wanted
from mlperf.collect.trainer.launch import mpiexec_command, run_ranks
from mlperf.core.files import replacing
from mlperf.core.places import make_folder
from mlperf.core.progress import shown_progress
from mlperf.datasets.dictionary.column import UNKNOWN_WORD
from mlperf.datasets.dictionary.server_schema import PS_RUNS, SEGMENTS, SERVER_TABLES
from mlperf.datasets.reading.read import read_table
from mlperf.specs.network.cnn_toml import cnn_to_dict

MODULE = "mlperf.collect.servers.rank"
RECORDS = "ps"
KEY = ("mode", "cnn", "n_replicas", "n_servers", "plan", "exchange", "minibatch_size", "code")
RUNS_OF_A_LAUNCH = 6
"""Ranks are started once for so many runs: starting a dozen takes longer than many a run."""


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What the runs of one call share.

    Attributes
    ----------
    request : ServersRequest
        What was asked for.
    nets : dict of str to Net
        Networks.
    images : dict of str to Images
        What each is trained on.
    launcher : list of str
        mpiexec.
    segments : DataFrame or None
        Rounds to wait for.
    """

    request: ServersRequest
    nets: dict[str, Net]
    images: dict[str, Images]
    launcher: list[str]
    segments: pd.DataFrame | None

    @property
    def folder(self) -> Path:
        """Of the records."""
        return self.request.out / RECORDS


def run_servers(request: ServersRequest, *, show_progress: bool = False) -> ServerRuns:
    """Train with A replicas, P stripes, R copies, H threads and S servers over MPI, and measure how long an epoch takes.

    Parameters
    ----------
    request : ServersRequest
        What to run; runs that the folder holds are not made again.
    show_progress : bool
        Whether a bar with the remaining time is drawn on stderr.

    Returns
    -------
    ServerRuns
        The runs of this call; every one is a row of ``ps_runs.csv``.

    Raises
    ------
    MissingExtraError
        mpi4py, mpiexec or (scalar code) numba is absent.
    UsageError, DataError
        A configuration that cannot run, or a network that the trainer does not know.
    InterruptedRun
        A rank was killed or failed, or Ctrl-C; finished launches are in the table.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), sections 4 and 6.
    """
    check_request(request)
    require_clocks()
    launcher = mpiexec_command(request.mpiexec)
    names = dict.fromkeys(configuration.cnn for configuration in request.configurations)
    nets = {name: net_of(request.cnns[name]) for name in names}
    n_cores = len(os.sched_getaffinity(0))
    for configuration in request.configurations:
        check_configuration(configuration, nets[configuration.cnn], n_cores, emulated=bool(request.waits))
    images = {name: digits_for(net, request.seed) for name, net in nets.items()}
    make_folder(request.out, above=True)
    make_folder(request.out / RECORDS)
    record = host_record({"seed": request.seed, RECORDS: protocol(request)}, {})
    check_same(request.out / FILE_NAME, record, ("ps_runs",))
    record["protocol"][RECORDS][ASKED] = asked_of(request)
    if NETWORK in request.waits:
        check_same_network(request.out, RECORDS, request.network)
    store_cnns(request.out / "cnns", [request.cnns[name] for name in names])
    write_host(request.out / FILE_NAME, record)
    segments = None
    with interruptible(request.out, "run"):
        if request.waits:
            measure_segments(request.out, wanted(request.configurations, nets, request.code))
            segments = read_table(request.out / "segments.csv", SEGMENTS, "keep")
        study = Study(request, nets, images, launcher, segments)
        return run_study(study, show_progress=show_progress)


def asked_of(request: ServersRequest) -> dict[str, Any]:
    """With which options runs of each setting are made, those of earlier calls included; other options are refused."""
    options = {"--minibatches": request.minibatches, "--epochs": request.epochs, "--learning-rate": request.learning_rate}
    own = [" ".join(key_of(request, configuration, request.code)) for configuration in request.configurations]
    return same_asked(request.out, RECORDS, dict.fromkeys(own, options), {" ".join(key) for key in runs_made(request)})


def run_study(study: Study, *, show_progress: bool) -> ServerRuns:
    """All runs that are still to make, a few of one network in each launch."""
    request = study.request
    todo, n_before = still_to_run(request)
    rows: list[dict[str, Any]] = []
    launches = []
    for repeat in range(1, request.repeats + 1):
        for name in study.nets:
            own = [each for each in todo if each[1] == repeat and each[0].cnn == name]
            launches += [own[first : first + RUNS_OF_A_LAUNCH] for first in range(0, len(own), RUNS_OF_A_LAUNCH)]
    with shown_progress(show_progress) as progress:
        progress.announce(f"{len(todo)} runs in {len(launches)} launches, {request.mode}")
        progress.start("parameter servers", len(launches))
        for launch in launches:
            rows += run_launch(study, launch)
            progress.advance()
    return ServerRuns(str(request.out), request.mode, pd.DataFrame(rows, columns=list(PS_RUNS.names)), n_before)


def still_to_run(request: ServersRequest) -> tuple[list[tuple[Configuration, int]], int]:
    """Configurations with the number of the repeat, each repeat in a random order of its own, and how many are there already."""
    made = runs_made(request)
    todo, n_before = [], 0
    for repeat in range(1, request.repeats + 1):
        order = np.random.default_rng((request.seed, repeat)).permutation(len(request.configurations))
        for configuration in (request.configurations[index] for index in order.tolist()):
            # Runs of earlier versions do not say what ran their loops.
            if sum(made[key_of(request, configuration, code)] for code in (request.code, UNKNOWN_WORD)) >= repeat:
                n_before += 1
            else:
                todo.append((configuration, repeat))
    return todo, n_before


def key_of(request: ServersRequest, configuration: Configuration, code: str) -> tuple[str, ...]:
    """What tells runs of one setting from others, as the columns `KEY` of their rows."""
    c = configuration
    return (request.mode, c.cnn, str(c.n_replicas), str(c.n_servers), c.plan_text, c.exchange, str(c.minibatch_size), code)


def runs_made(request: ServersRequest) -> Counter[tuple[str, ...]]:
    """How many runs of each setting the folder holds."""
    return Counter(tuple(row[name] for name in KEY) for row in GrowingTable(request.out, "ps_runs", SERVER_TABLES).rows())


def run_launch(study: Study, launch: list[tuple[Configuration, int]]) -> list[dict[str, Any]]:
    """Start the ranks once, make some runs of one network, and write their rows."""
    request, folder = study.request, study.folder
    name = launch[0][0].cnn
    first = max((int(path.name[4:8]) for path in folder.glob("run-*-rank-0.json")), default=0) + 1
    runs = tuple(make_run(study, configuration, first + place) for place, (configuration, _) in enumerate(launch))
    write_job(runs, folder)
    with replacing(folder / DATA) as stream:
        np.savez(stream, images=study.images[name].images, labels=study.images[name].labels)
    load = load_average()
    run_ranks(study.launcher, max(run.configuration.n_ranks for run in runs), folder, MODULE)
    table = GrowingTable(request.out, "ps_runs", SERVER_TABLES)
    rows = []
    for run, (_, repeat) in zip(runs, launch, strict=True):
        rows.append(row_of(study, run, repeat, load))
        table.add(rows[-1:])
        table.flush()
    return rows


def make_run(study: Study, configuration: Configuration, number: int) -> Run:
    """The job of one run."""
    request = study.request
    net = study.nets[configuration.cnn]
    waits = {} if study.segments is None else waits_of(study.segments, configuration, net, request.time_scale)
    return Run(
        number=number,
        configuration=configuration,
        cnn=cnn_to_dict(request.cnns[configuration.cnn]),
        n_minibatches=request.minibatches,
        learning_rate=request.learning_rate,
        seed=int(np.random.SeedSequence((request.seed, number)).generate_state(1)[0]),
        code=request.code,
        waits=waits,
        link=request.link,
        limit_s=request.limit_s,
    )


def row_of(study: Study, run: Run, repeat: int, load: float) -> dict[str, Any]:
    """The run's row; what it has learnt is learnt on without a clock until the asked number of passes."""
    request, configuration = study.request, run.configuration
    net, data = study.nets[configuration.cnn], study.images[configuration.cnn]
    size = len(data.labels)
    told = measured(run, study.folder, size)
    weights = final_weights(run, study.folder, net)
    n_left = updates_left(run, request.epochs, size)
    weights = go_on(
        net, configuration, weights, data.images, data.labels,
        rate=run.learning_rate, delay=delay_of(configuration, told["staleness"]), n_updates=n_left, seed=run.seed,
    )  # fmt: skip
    return {
        "run": run.number,
        **setting_of(configuration, request.mode, repeat),
        **told,
        "test_accuracy": accuracy(net, weights, data.test_images, data.test_labels),
        "accuracy_epochs": (told["n_updates"] + n_left) * configuration.minibatch_size / size,
        "cores_per_rank": (os.cpu_count() or 1) / configuration.n_ranks,
        "load": load,
        "code": request.code,
        "version": __version__,
    }


def protocol(request: ServersRequest) -> dict[str, Any]:
    """What host.json says of how it was measured."""
    return {
        "mode": request.mode,
        "clock": "perf_counter, elapsed time",
        "code": f"{request.code}, one sample a call",
        "time_scale": request.time_scale if request.waits else 1.0,
        "network": asdict(request.network) if request.waits else {},
        "network_waited": asdict(request.network) if NETWORK in request.waits else network_waited(request.out, RECORDS),
        "waits": list(request.waits),
        "minibatches": request.minibatches,
        "learning_rate": request.learning_rate,
        "accuracy": f"after {request.epochs} passes; beyond the run's own mini-batches by real gradients, without a clock",
        "left_out": "the first mini-batch of every replica, and what ran while not all replicas did",
    }
