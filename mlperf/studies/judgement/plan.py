"""Which runs a judgement consists of, drawn by the hash of a commit as docs/explanation/judgement.md says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.collect.trainer.network import EXCHANGES, Network
from mlperf.collect.trainer.rounds import gradient_rounds, memory_rounds
from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown, records_frame
from mlperf.datasets.campaigns.campaign import Campaign, read_campaign
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.components import IMAGE_OPERATIONS

ROUNDS_FROM = "cpu-epyc"
SEEN = ("cnn00", "cnn03", "cnn14", "cnn18", "cnn29", "cnn31")
"""Networks of the trainer campaigns that were there before: never drawn."""

N_NETWORKS = 6
N_PARAMS = (800_000, 8_000_000)
STEP_S = (2e-3, 60e-3)
"""Bounds of the mean measured step at the smallest and at the largest sub-batch."""

SETTINGS = ((1, 1, 2), (1, 2, 4), (1, 4, 2), (2, 1, 4), (2, 2, 2), (2, 4, 2), (4, 1, 4), (4, 2, 2), (4, 4, 4))
"""Nodes, GPUs of each, sub-batch: every pair of nodes and GPUs once, seven of them in three groups of equal products."""

BYTES_PER_S = (3e8, 1.2e9)
LATENCY_S = (1e-4, 1e-3)
TIME_SCALE = 3
WAITED_S = 600.0
"""All runs together, start-up not counted."""

UPDATES_WANTED, ITERATIONS_WANTED = 50, 100
"""A run's share of the time is the longer of this many updates and this many iterations of all its workers."""

LEAST_UPDATES = 40

SPECIFICATIONS = "networks"
GENERATED = re.compile(r"(cnn|res)\d+")
OF_WORKER = (*IMAGE_OPERATIONS, "compute_gradient", "fetch_weights", "compute_update_value", "update_gradient")
HASH_DIGITS = 40

Setting = tuple[int, int, int]
Run = tuple[Network, str, Setting]


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One run of the trainer.

    Attributes
    ----------
    network : Network
        The emulated machine; its name is that of its form of exchange.
    cnn : str
        What is trained.
    n_nodes, n_gpus_per_node, subbatch_size : int
        The setting.
    n_updates : int
        Length of the run.
    repeat : int
        1, or 2 where the same setting has been run before.
    """

    network: Network
    cnn: str
    n_nodes: int
    n_gpus_per_node: int
    subbatch_size: int
    n_updates: int
    repeat: int

    @property
    def machine(self) -> str:
        """Name of the machine and of its campaign's folder."""
        return self.network.exchange

    def command(self, folder: Path, seed: int) -> list[str]:
        """Words of the command that makes this run in ``folder``; specifications are read from ``networks/`` in it."""
        options = {
            "-o": folder / self.machine,
            "--cnn": folder / SPECIFICATIONS / f"{self.cnn}.toml",
            "--wait": "gradient,memory,network",
            "--rounds-from": ROUNDS_FROM,
            "--exchange": self.network.exchange,
            "--bandwidth": f"{self.network.bytes_per_s:g}",
            "--latency": f"{self.network.latency_s:g}",
            "--time-scale": TIME_SCALE,
            "--nodes": self.n_nodes,
            "--gpus-per-node": self.n_gpus_per_node,
            "--subbatch": self.subbatch_size,
            "--updates": self.n_updates,
            "--epochs": 0,
            "--repeats": self.repeat,
            "--seed": seed,
        }
        return ["mlperf", "collect", "asgd", "--", *(str(word) for option in options.items() for word in option)]


@dataclass(frozen=True, slots=True, eq=False)
class JudgementPlan(Shown):
    """What the hash of a commit decides.

    Attributes
    ----------
    commit : str
        The hash.
    cnns : Mapping
        Specifications of the networks drawn, by name.
    machines : tuple of Network
        One for each form of exchange.
    runs : tuple of JudgedRun
        In the order in which they are made.
    """

    commit: str
    cnns: Mapping[str, CnnSpec]
    machines: tuple[Network, ...]
    runs: tuple[JudgedRun, ...]

    @property
    def seed(self) -> int:
        """Seed of what is drawn inside the runs: the first eight digits of the hash."""
        return int(self.commit[:8], 16)

    def to_frame(self) -> pd.DataFrame:
        """One row a run."""
        frame = records_frame(JudgedRun, self.runs).drop(columns="network")
        frame.insert(0, "machine", [run.machine for run in self.runs])
        return frame


def plan_judgement(commit: str) -> JudgementPlan:
    """Draw networks, machines, repeated settings and the order of the runs, and share out the time.

    Parameters
    ----------
    commit : str
        A commit's whole hash, 40 hexadecimal digits; it is the seed, nothing else is drawn from.

    Raises
    ------
    UsageError
        It is no such hash.
    """
    if len(commit) != HASH_DIGITS or set(commit) - set("0123456789abcdef"):
        raise UsageError(f"got {commit!r}, expected a commit's whole hash", hint="`git rev-parse COMMIT` prints it.")
    rng, campaign = np.random.default_rng(int(commit, 16)), read_campaign(ROUNDS_FROM)
    names = sorted(rng.choice(candidates(campaign), N_NETWORKS, replace=False).tolist())
    machines = draw_machines(rng)
    twice = rng.choice(names, len(machines), replace=False).tolist()
    runs = [
        (machine, name, setting)
        for machine, repeated in zip(machines, twice, strict=True)
        for name in (*names, repeated)
        for setting in SETTINGS
    ]
    n_updates = share_time(campaign, runs)
    made: Counter[Run] = Counter()
    found = []
    for run in (runs[number] for number in rng.permutation(len(runs)).tolist()):
        made[run] += 1
        machine, name, (n_nodes, n_gpus_per_node, subbatch_size) = run
        found.append(JudgedRun(machine, name, n_nodes, n_gpus_per_node, subbatch_size, n_updates[run], made[run]))
    return JudgementPlan(commit, {name: campaign.cnns[name] for name in names}, machines, tuple(found))


def candidates(campaign: Campaign) -> list[str]:
    """Names of the networks that may be drawn, sorted: generated, not `SEEN`, parameters and steps inside their bounds.

    Parameters
    ----------
    campaign : Campaign
        With steps at every sub-batch of `SETTINGS`, seconds.
    """
    mean_s = campaign.table("steps").groupby(["cnn", "subbatch_size"])["step_s"].mean().unstack()
    sizes = [setting[2] for setting in SETTINGS]
    quick = mean_s[(mean_s[min(sizes)] >= STEP_S[0]) & (mean_s[max(sizes)] <= STEP_S[1])].index
    return sorted(
        name
        for name in quick
        if GENERATED.fullmatch(name) and name not in SEEN and N_PARAMS[0] <= campaign.cnns[name].n_params <= N_PARAMS[1]
    )


def draw_machines(rng: np.random.Generator) -> tuple[Network, ...]:
    """One machine for each form of exchange; bandwidths and latencies lie one in each third of their bounds, dealt at random.

    Parameters
    ----------
    rng : Generator
        Of the commit's hash.

    Returns
    -------
    tuple of Network
        In the order of `EXCHANGES`; bytes per second and seconds.
    """
    bytes_per_s, latency_s = (draw_in_parts(rng, bounds, len(EXCHANGES)) for bounds in (BYTES_PER_S, LATENCY_S))
    drawn = zip(latency_s, bytes_per_s, EXCHANGES, strict=True)
    return tuple(Network(*each) for each in drawn)


def draw_in_parts(rng: np.random.Generator, bounds: tuple[float, float], n: int) -> list[float]:
    """``n`` numbers in random order, log-uniform one in each of ``n`` log-equal parts of the bounds, rounded to three digits.

    Parameters
    ----------
    rng : Generator
        Draws the order, then the places.
    bounds : (float, float)
        Least and greatest, > 0, in any unit.
    n : int
        How many.
    """
    places = (rng.permutation(n) + rng.random(n)) / n
    return [float(f"{bounds[0] * (bounds[1] / bounds[0]) ** place:.3g}") for place in places]


def share_time(campaign: Campaign, runs: Sequence[Run]) -> dict[Run, int]:
    """Updates of each run, so that all together wait about `WAITED_S`.

    How long iterations take is added up from mean rounds; lengths are all that it decides.

    Parameters
    ----------
    campaign : Campaign
        Whose rounds are waited for.
    runs : sequence of (Network, str, (int, int, int))
        Machine, network and setting of every run, repeats included.

    Returns
    -------
    dict
        Run to its updates, at least `LEAST_UPDATES`.
    """
    update_s, wanted_s = {}, {}
    # Rounds are the same on every machine and for every number of GPUs.
    mean_s = cache(lambda name, n_nodes, subbatch_size: mean_rounds_s(campaign, campaign.cnns[name], n_nodes, subbatch_size))
    for run in dict.fromkeys(runs):
        machine, name, setting = run
        gpu_s, update_s[run] = iterations_s(mean_s(name, setting[0], setting[2]), campaign.cnns[name], machine, setting)
        wanted_s[run] = max(UPDATES_WANTED * update_s[run], ITERATIONS_WANTED * gpu_s / (setting[0] * setting[1]))
    share = WAITED_S / sum(wanted_s[run] for run in runs)
    return {run: max(LEAST_UPDATES, round(share * wanted_s[run] / update_s[run])) for run in wanted_s}


def mean_rounds_s(campaign: Campaign, cnn: CnnSpec, n_nodes: int, subbatch_size: int) -> dict[str, float]:
    """Mean seconds of the emulated rounds of every operation, by its name.

    Parameters
    ----------
    campaign : Campaign
        Where they were measured.
    cnn : CnnSpec
        What is trained.
    n_nodes, subbatch_size : int
        Part of the vectors that a node keeps, and samples of a step.

    Returns
    -------
    dict of str to float
        `TIME_SCALE` times the mean of the rounds, seconds.
    """
    rounds = gradient_rounds(campaign, cnn, subbatch_size, "numpy") | memory_rounds(campaign, cnn.n_params, n_nodes)
    return {name: TIME_SCALE * float(np.mean(each)) for name, each in rounds.items()}


def iterations_s(mean_s: Mapping[str, float], cnn: CnnSpec, machine: Network, setting: Setting) -> tuple[float, float]:
    """About how long an iteration of a worker and one of the update thread take: all waits at their mean, nobody in the way.

    Parameters
    ----------
    mean_s : mapping of str to float
        Of `mean_rounds_s`, seconds.
    cnn : CnnSpec
        What is exchanged.
    machine : Network
        Gives the all-reduce.
    setting : (int, int, int)
        Nodes, GPUs of each, sub-batch.

    Returns
    -------
    tuple of (float, float)
        Seconds of T_GPU and of T_Update.
    """
    n_nodes, n_gpus_per_node, _ = setting
    gpu_s = sum(mean_s[name] for name in OF_WORKER)
    sums_s = n_gpus_per_node * mean_s["sum_gradient"]
    own_s = sum(each for name, each in mean_s.items() if name not in (*OF_WORKER, "sum_gradient"))
    update_s = own_s + TIME_SCALE * machine.allreduce_s(cnn.n_params, n_nodes)
    return gpu_s, update_s + sums_s * min(1.0, (update_s + sums_s) / gpu_s)
