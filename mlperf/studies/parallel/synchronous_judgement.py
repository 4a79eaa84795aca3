"""Synchronous runs that nothing was fitted to: which they are, how they are made, and how far predictions are off.

``python -m mlperf.studies.parallel.synchronous_judgement commands PROTOCOL FOLDER`` writes the networks and prints the commands of
the campaign; ``judge PROTOCOL FOLDER`` prints the verdict. The protocol is a TOML file, fixed before the runs.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Protocol as ModelProtocol

import numpy as np
import pandas as pd

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.places import make_folder
from mlperf.datasets.dictionary.synchronous_schema import DDP_EXCHANGE, DDP_RUNS
from mlperf.datasets.reading.read import read_table
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import write_cnn
from mlperf.studies.trainer.gates import Gated
from mlperf.training.systems.step_parts import train_composed
from mlperf.training.systems.train_system import train_system

OTHER_BATCHES, MORE, NETWORK = "other sub-batches", "more processes", "another network"
GROUPS = (OTHER_BATCHES, MORE, NETWORK)
CONFIGURATION = ["mode", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
STEP_COLUMNS = ("n_nodes", "n_gpus_per_node", "subbatch_size", "n_params", "cnn")
BESIDE = ("whole_steps", "perfect_scaling", "constant_efficiency")
"""Other predictions of the same runs: steps fitted as a whole, without their parts, and two rules of thumb."""
KNOWN = ("n_params", "size_bytes", "dataset_size", "overlap", "input_overlap")
NETWORKS: Mapping[str, tuple[int, tuple[int, ...], tuple[int, ...], int]] = {
    "ddp-a": (24, (3, 16, 32, 64, 10), (2,), 2),
    "ddp-b": (24, (3, 16, 32, 48, 256, 10), (2,), 3),
    "ddp-c": (32, (3, 24, 48, 64, 512, 10), (2, 3), 3),
    "ddp-d": (20, (1, 16, 24, 32, 256, 10), (2,), 3),
}
"""Input size, maps, layers with a pool behind them, convolutions: of protocols that name none. Steps of 1 to 50 ms, gradients of
0.8 to 5 MB."""


class StepModel(ModelProtocol):
    """What predicts steps."""

    def predict(self, runs: pd.DataFrame, /) -> pd.DataFrame:
        """A row a run with ``step_s``, seconds."""
        ...


Train = Callable[[pd.DataFrame, pd.DataFrame], StepModel]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is run, what is fitted, and what is asked.

    Attributes
    ----------
    subbatch_sizes : tuple of int
        Of all runs.
    run_s : float
    repeats : int
    real, emulated : tuple of int
        Processes of runs that compute, and of those that wait.
    fitted_processes, fitted_subbatch_sizes : tuple of int
        Runs that are fitted have one of each.
    one_process_only : tuple of str
        Networks of which only runs of one process are fitted.
    limits : mapping of str to float
        Largest mean relative error of each of `GROUPS`.
    networks : tuple of CnnSpec
        What is trained.
    """

    subbatch_sizes: tuple[int, ...]
    run_s: float
    repeats: int
    real: tuple[int, ...]
    emulated: tuple[int, ...]
    fitted_processes: tuple[int, ...]
    fitted_subbatch_sizes: tuple[int, ...]
    one_process_only: tuple[str, ...]
    limits: Mapping[str, float]
    networks: tuple[CnnSpec, ...]

    def commands(self, folder: Path) -> tuple[list[str], ...]:
        """Words of the two commands that make the runs: those that compute, then those that wait for what the first measured."""
        cnns = [word for cnn in self.networks for word in ("--cnn", str(folder / f"{cnn.name}.toml"))]
        same = ["mlperf", "collect", "ddp", "--", "-o", str(folder / "runs"), *cnns]
        same += ["--subbatch", _listed(self.subbatch_sizes), "--seconds", f"{self.run_s:g}", "--repeats", str(self.repeats)]
        return (
            [*same, "--processes", _listed(self.real), "--wait", "never"],
            [*same, "--processes", _listed(self.emulated), "--wait", "always"],
        )


@dataclass(frozen=True, slots=True, eq=False)
class SynchronousJudgement(Gated):
    """Predictions of runs that were not fitted, beside what was measured.

    Attributes
    ----------
    predictions : DataFrame
        One row a configuration: its group, ``measured_s``, ``predicted_s``, ``error`` (signed), errors of `BESIDE`.
    gates : DataFrame
        By group: ``n``, ``mape``, ``max``, ``limit``, ``met``, mean errors of ``whole_steps`` (`train_system`, which sees no part
        of a step), ``perfect_scaling`` (a step takes as long as on one process) and ``constant_efficiency`` (as much longer as
        from one to two).
    """

    predictions: pd.DataFrame
    gates: pd.DataFrame


def read_protocol(path: Path | str) -> Protocol:
    """Read a protocol.

    Raises
    ------
    DataError
        The file is missing, no TOML, or a key is missing, unknown or not what it should be.
    """
    with Fields(read_toml(path), str(path)) as document:
        runs, fitted, limits = (document.child(name) for name in ("runs", "fitted", "limits"))
        with runs, fitted, limits:
            return Protocol(
                subbatch_sizes=runs.integers("subbatch_sizes", lower=1),
                run_s=runs.number("seconds", lower=0.0),
                repeats=runs.integer("repeats", lower=1),
                real=runs.integers("real_processes", lower=1),
                emulated=runs.integers("emulated_processes", lower=1),
                fitted_processes=fitted.integers("processes", lower=1),
                fitted_subbatch_sizes=fitted.integers("subbatch_sizes", lower=1),
                one_process_only=fitted.texts("one_process_only"),
                limits={name: limits.number(name, lower=0.0) for name in GROUPS},
                networks=known_networks() if document.missing("networks") else named_networks(document),
            )


def known_networks() -> tuple[CnnSpec, ...]:
    """`NETWORKS`."""
    return tuple(
        CnnSpec.from_sprint(name, size, n_maps, pools_after, n_conv)
        for name, (size, n_maps, pools_after, n_conv) in NETWORKS.items()
    )


def named_networks(document: Fields) -> tuple[CnnSpec, ...]:
    """Those that a protocol names, in SPRINT's form."""
    found = []
    for name, told in document.named_children("networks").items():
        with told:
            size, n_conv = told.integer("input_size", lower=1), told.integer("n_conv", lower=1)
            found.append(CnnSpec.from_sprint(name, size, told.integers("n_maps", lower=1), told.integers("pools_after"), n_conv))
    return tuple(found)


def write_networks(folder: Path, networks: Sequence[CnnSpec]) -> None:
    """Write the specifications that the commands name."""
    make_folder(folder)
    for cnn in networks:
        write_cnn(cnn, folder / f"{cnn.name}.toml")


def group_of(runs: pd.DataFrame, protocol: Protocol) -> Any:
    """Which group judges each run; empty where it is fitted; shape (n_runs,)."""
    few = runs["n_gpus_per_node"].isin(protocol.fitted_processes)
    known_batch = runs["subbatch_size"].isin(protocol.fitted_subbatch_sizes)
    new = runs["cnn"].isin(protocol.one_process_only)
    is_fitted = few & known_batch & (~new | (runs["n_gpus_per_node"] == 1))
    group = np.where(new & (runs["n_gpus_per_node"] > 1), NETWORK, np.where(few, OTHER_BATCHES, MORE))
    return np.where(is_fitted, "", group)


def judge(runs: pd.DataFrame, exchange: pd.DataFrame, protocol: Protocol, train: Train = train_composed) -> SynchronousJudgement:
    """Train on the fitted runs of each mode, predict the others.

    Parameters
    ----------
    runs, exchange : DataFrame
        Of runs.csv and exchange.csv.
    protocol : Protocol
        What is fitted.
    train : callable
        What makes a model that predicts steps out of fitted runs and isolated exchanges.

    Raises
    ------
    DataError
        A group has no run.
    """
    parts = [judged_mode(rows, exchange, protocol, train) for _, rows in runs.groupby("mode", sort=True)]
    predictions = pd.concat(parts, ignore_index=True)
    missing = [name for name in GROUPS if name not in set(predictions["group"])]
    if missing:
        raise DataError(f"got no run to judge {missing[0]!r} by", hint="Make the runs that the protocol's commands say.")
    return SynchronousJudgement(predictions, gates_of(predictions, protocol))


def judged_mode(runs: pd.DataFrame, exchange: pd.DataFrame, protocol: Protocol, train: Train) -> pd.DataFrame:
    """Configurations of one mode that were not fitted: measured (median over repeats), predicted, errors."""
    group = group_of(runs, protocol)
    fitted, left = runs[group == ""], runs[group != ""].assign(group=group[group != ""])
    model, whole = train(fitted, exchange), train_system(fitted[[*STEP_COLUMNS, "step_s"]], "data-parallel", factors=("cnn",))
    asked = left.groupby([*CONFIGURATION, "group", *KNOWN])["step_s"].median().reset_index()
    answers = model.predict(asked)
    steps = whole.predict(asked[[*STEP_COLUMNS]])
    alone = model.predict(asked.assign(n_gpus_per_node=1))["step_s"].to_numpy()
    slower = slowdown(fitted)
    n_gpus = asked["n_gpus_per_node"].to_numpy(float)
    measured = asked["step_s"].to_numpy()
    columns = asked[[*CONFIGURATION, "group"]]
    return pd.DataFrame(columns).assign(
        measured_s=measured,
        predicted_s=answers["step_s"].to_numpy(),
        error=answers["step_s"].to_numpy() / measured - 1.0,
        whole_steps=steps.step_s / measured - 1.0,
        perfect_scaling=alone / measured - 1.0,
        constant_efficiency=alone * slower ** np.log2(n_gpus) / measured - 1.0,
    )


def slowdown(fitted: pd.DataFrame) -> float:
    """Step on two processes over that on one, median over networks and sub-batches that were fitted on both."""
    steps = fitted.pivot_table(index=["cnn", "subbatch_size"], columns="n_gpus_per_node", values="step_s").dropna()
    return float((steps[2] / steps[1]).median())


def gates_of(predictions: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Mean errors by group beside their limits."""
    rows = []
    for name in GROUPS:
        here = predictions[predictions["group"] == name]
        mape = float(here["error"].abs().mean())
        found = {"group": name, "n": len(here), "mape": mape, "max": float(here["error"].abs().max())}
        found |= {"limit": protocol.limits[name], "met": mape <= protocol.limits[name]}
        rows.append(found | {rule: float(here[rule].abs().mean()) for rule in BESIDE})
    return pd.DataFrame(rows)


def judge_folder(protocol: Protocol, folder: Path) -> SynchronousJudgement:
    """Judge what the protocol's commands have left in a folder."""
    home = folder / "runs"
    return judge(read_table(home / "runs.csv", DDP_RUNS), read_table(home / "exchange.csv", DDP_EXCHANGE), protocol)


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def main(words: Sequence[str]) -> int:
    """``commands`` or ``judge``, a protocol and a folder; returns 1 where a limit is missed."""
    if len(words) != 3 or words[0] not in ("commands", "judge"):
        raise UsageError(f"got {shlex.join(words)!r}, expected commands or judge, a protocol and a folder")
    protocol, folder = read_protocol(words[1]), Path(words[2])
    if words[0] == "commands":
        write_networks(folder, protocol.networks)
        sys.stdout.write("".join(f"{shlex.join(command)}\n" for command in protocol.commands(folder)))
        return 0
    found = judge_folder(protocol, folder)
    sys.stdout.write(f"{found.predictions.to_string(index=False)}\n\n{found.gates.to_string(index=False)}\n")
    return int(not found.gates["met"].all())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
