"""What a prediction reads of the configurations it is asked about, worked out once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import index
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.errors import PATH, DataError, UsageError, check_type
from mlperf.features.network.components import component_columns
from mlperf.planning.step_prediction import StepCalls, step_calls
from mlperf.specs.data_types import SINGLE
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec, find_machine
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.fields import GREATEST_WHOLE
from mlperf.specs.optimizers import MOMENTUM_SGD
from mlperf.specs.zoo.zoo import find_cnn
from mlperf.systems.base.times import RunGrid
from mlperf.training.model import Model

Counts = int | Sequence[int]
MOST_CONFIGURATIONS = 10**7
RUN_COLUMNS = ("n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size")


@dataclass(frozen=True, slots=True, eq=False)
class ConfigurationInputs:
    """Configurations of some networks on one machine, and what their component times depend on.

    Attributes
    ----------
    cnns : tuple of CnnSpec
        Networks that ``configs["cnn"]`` counts from 0.
    machine : MachineSpec
        Its network stands in for an all-reduce that was not measured.
    configs : DataFrame
        One row a configuration: ``cnn, n_nodes, n_gpus_per_node, subbatch_size, dataset_size``.
    columns : DataFrame
        The same rows with the columns of the component models' terms.
    steps : StepCalls
        Kernel calls of their training steps.
    optimizer : str
        What applies the gradients.
    """

    cnns: tuple[CnnSpec, ...]
    machine: MachineSpec
    configs: pd.DataFrame
    columns: pd.DataFrame
    steps: StepCalls
    optimizer: str = MOMENTUM_SGD

    @property
    def run(self) -> RunGrid:
        """The configurations as the equations read them, shape (n_configs,)."""
        return RunGrid(*(self.configs[name].to_numpy(int) for name in RUN_COLUMNS))

    @property
    def run_keys(self) -> pd.DataFrame:
        """By what runs of a configuration are known again: ``cnn`` (name), ``n_params``, ``subbatch_size``, ``n_nodes``."""
        names = self.configs["cnn"].map({position: cnn.name for position, cnn in enumerate(self.cnns)})
        return self.columns[["n_params", "subbatch_size", "n_nodes"]].assign(cnn=names)

    def take(self, rows: IntArray) -> ConfigurationInputs:
        """The configurations ``rows``, without building their kernel tables again."""
        return replace(self, configs=self.configs.iloc[rows], columns=self.columns.iloc[rows], steps=self.steps.take(rows))


def configuration_inputs(
    model: Model, cnns: Sequence[CnnSpec], machine: MachineSpec, configs: pd.DataFrame, optimizer: str = MOMENTUM_SGD
) -> ConfigurationInputs:
    """Work out what a model reads of configurations; see `ConfigurationInputs`.

    Raises
    ------
    DataError
        The model reads counters of kernels, and nobody said where those of an unseen network come from.
    UsageError
        The model is one of a table.
    """
    check_kind(model)
    columns = component_columns(configs, cnns)
    return ConfigurationInputs(tuple(cnns), machine, configs, columns, step_calls(model.gradient, cnns, configs), optimizer)


def check_kind(model: object) -> None:
    """Accept the model of a campaign.

    Raises
    ------
    UsageError
        It is one of a table, or of something else; says what it can be asked.
    """
    if isinstance(model, Model):
        return
    target = getattr(model, "target", None)
    if target is None:
        raise UsageError(f"got {type(model).__name__}, expected the model of a campaign", hint="mlperf.train(campaign) makes one.")
    hint = (
        "Rows of a table: mlperf predict --rows, or predict_rows and compare_rows of mlperf.planning. Networks: train a campaign."
    )
    raise UsageError(f"got the model of a table ({target}), expected one of a campaign", hint=hint)


def of_job(job: JobSpec, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a prediction, with the job's optimizer.

    Raises
    ------
    DataError
        The job's data type is not the one that campaigns measure.
    """
    check_job(job)
    if job.data_type != SINGLE:
        raise DataError(
            f"got {job.data_type!r}, expected {SINGLE!r}: times were measured in single precision",
            place="job, data_type",
            hint="Memory and traffic in other types: training_memory, bytes_moved and max_subbatch_size of mlperf.specs.",
        )
    return {"optimizer": job.optimizer, "epochs": job.epochs, **options}


def networks(cnn: CnnSpec | str | Path | Iterable[CnnSpec | str | Path]) -> list[CnnSpec]:
    """The networks asked about: specifications as they are, names and files as `mlperf.specs.find_cnn` finds them."""
    single = isinstance(cnn, (CnnSpec, *PATH)) or not isinstance(cnn, Iterable)
    several: list[Any] = [cnn] if single else list(cnn)  # type: ignore[arg-type]
    return [each if isinstance(each, CnnSpec) else find_cnn(each) for each in several]


def one_network(cnn: CnnSpec | str | Path) -> CnnSpec:
    """The one network asked about; UsageError: none, or several."""
    found = networks(cnn)
    if len(found) != 1:
        raise UsageError(f"got {len(found)} networks, expected one", place="cnn", hint="Search one after the other.")
    return found[0]


def check_job(job: object) -> None:
    """Raise UsageError for anything but a job."""
    check_type(job, JobSpec, "job", "a JobSpec", "mlperf.JobSpec(dataset_size=50_000), or mlperf.load_job(path).")


def machine_of(machine: MachineSpec | str | Path) -> MachineSpec:
    """The machine asked about: a specification as it is, a name or file as `mlperf.specs.find_machine` finds it."""
    return machine if isinstance(machine, MachineSpec) else find_machine(machine)


def asked_configurations(
    cnns: Sequence[CnnSpec], machine: MachineSpec, job: JobSpec, sizes: tuple[Counts | None, Counts | None, Counts | None]
) -> pd.DataFrame:
    """Every combination of ``sizes``: nodes, GPUs of one, sub-batch; those that are None are the job's and the machine's."""
    check_job(job)
    if not cnns:
        raise UsageError("got no CNN, expected at least one")
    usual = (job.n_nodes, machine.n_gpus_per_node, job.subbatch_size)
    nodes, gpus, subbatches = (own if asked is None else asked for asked, own in zip(sizes, usual, strict=True))
    return configurations(range(len(cnns)), nodes, gpus, subbatches, job.dataset_size)


def configurations(
    cnns: Iterable[int], n_nodes: Counts, n_gpus_per_node: Counts, subbatch_size: Counts, dataset_size: int
) -> pd.DataFrame:
    """Every combination as the rows that `configuration_inputs` takes; UsageError: no counts, or more than memory takes."""
    sizes = {"n_nodes": n_nodes, "n_gpus_per_node": n_gpus_per_node, "subbatch_size": subbatch_size}
    axes = [list(cnns), *(_several(name, counts) for name, counts in sizes.items())]
    if (n_configs := prod(map(len, axes))) > MOST_CONFIGURATIONS:
        got = f"got {n_configs:,} configurations, expected at most {MOST_CONFIGURATIONS:,}"
        raise UsageError(got, hint="Name fewer nodes, GPUs and sub-batches, or a step: 1:1024:16.")
    names = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
    return pd.MultiIndex.from_product(axes, names=names).to_frame(index=False).assign(dataset_size=dataset_size)


def _several(name: str, counts: Any) -> list[int]:
    """A count, or several, as whole numbers from 1."""
    try:
        given: list[Any] = [counts] if isinstance(counts, str) or not isinstance(counts, Iterable) else list(counts)
        found = [0 if isinstance(count, bool) else index(count) for count in given]
    except TypeError:
        found = []
    if not found or min(found) < 1 or max(found) > GREATEST_WHOLE:
        hint = f"As in {name}=8 or {name}=[1, 2, 4]."
        most = f", at most {GREATEST_WHOLE:g}" if found and max(found) > GREATEST_WHOLE else ""
        raise UsageError(f"got {counts!r:.60}, expected a whole number >= 1, or several{most}", place=name, hint=hint)
    return found
