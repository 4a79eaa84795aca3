"""The table of tasks, by name: what is claimed, the tables that judge it, how rows are split, where it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from mlperf.datasets import read_open
from mlperf.studies.open_data.batches import MODES, score_batches
from mlperf.studies.open_data.calibrated import SUBJECT as SIMULATOR
from mlperf.studies.open_data.calibrated import score_calibration
from mlperf.studies.open_data.collectives import BEYOND, INSIDE, RANKS, score_machines, score_ranks
from mlperf.studies.open_data.collectives import score_inside as score_one_machine
from mlperf.studies.open_data.collinear import DEVICES as WORKERS
from mlperf.studies.open_data.collinear import score_selections
from mlperf.studies.open_data.commands import SUBJECTS_BY_TASK, score_stated, score_unstated, share_near
from mlperf.studies.open_data.coverage import SETS, narrow_sets, score_intervals
from mlperf.studies.open_data.layers import CARDS, N_TEST, N_TRAIN, score_dense, score_small, score_square, score_steps
from mlperf.studies.open_data.memory import score_failures
from mlperf.studies.open_data.networks import DEVICE, SUBJECTS, score_networks, score_whole_networks
from mlperf.studies.open_data.products import (
    BATCHED_TESTED,
    BOARDS,
    GPUS,
    mean_gain,
    score_batched,
    score_beyond,
    score_inside,
    score_transposed,
)
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult
from mlperf.studies.open_data.servers import DEVICES as SERVED
from mlperf.studies.open_data.servers import STORAGE, UNSEEN_DEVICES, score_checkpoints, score_counts, score_unseen
from mlperf.studies.open_data.steps import (
    CARDS as SHARDED,
)
from mlperf.studies.open_data.steps import (
    CHOICE_SPLITS,
    EPOCH_SPLITS,
    LAYOUT_SPLITS,
    PLATFORMS,
    SHARDED_SETS,
    score_epochs,
    score_layouts,
    score_machine,
    score_many_nodes,
    score_one_node,
    score_scaling,
    score_sharded,
    score_unseen_sharded,
)
from mlperf.studies.open_data.tuning import DEVICES as TUNED
from mlperf.studies.open_data.tuning import score_tunings
from mlperf.studies.open_data.vectors import score_operators


@dataclass(frozen=True, slots=True)
class Task:
    """A claim about times, the open data that judge it, and the methods to score.

    Attributes
    ----------
    name, title : str
        ``"A1"`` and what is claimed.
    tables : tuple of (str, str)
        Data sets and tables read.
    split : str
        How rows are split, with groups and seed.
    devices : tuple of str
        Devices that come first, each called by a part of its name in the first table; further devices of that table follow by
        their whole name.
    run : callable
        ``run(device, folder)`` scores every method on one device; ``folder`` of the open data, None for the one named by the
        environment.
    over_devices : callable
        Findings that need every device's scores; by default none.
    sets : tuple of str
        What is run besides the devices of the first table, by name.
    """

    name: str
    title: str
    tables: tuple[tuple[str, str], ...]
    split: str
    devices: tuple[str, ...]
    run: Callable[[str, Path | None], TaskResult]
    over_devices: Callable[[Sequence[Score]], Sequence[Finding]] = lambda _: ()
    sets: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """The tables in words."""
        return "; ".join(f"{name} {table}" for name, table in self.tables)

    def subjects(self, folder: Path | None) -> tuple[str, ...]:
        """What the task is run on: its devices by short name, further devices of the first table, sets."""
        if not self.devices:
            return self.sets
        names = self._names(folder)
        short = {named[0]: key for key, named in self._found(names).items() if len(named) == 1}
        known = [key for key in self.devices if key in short.values()]
        return (*known, *(name for name in names if name not in short), *self.sets)

    def absent(self, folder: Path | None) -> tuple[str, ...]:
        """Devices called by a short name that the first table does not hold."""
        return tuple(key for key, named in self._found(self._names(folder)).items() if not named)

    def _names(self, folder: Path | None) -> list[str]:
        return [str(name) for name in pd.unique(read_open(*self.tables[0], folder)["device"])] if self.devices else []

    def _found(self, names: Sequence[str]) -> dict[str, list[str]]:
        return {key: [key] if key in names else [name for name in names if key in name] for key in self.devices}


LINEAR = (("neusight", "linear"),)
SPEEDS = (("cmdare", "cluster_speed"), ("cmdare", "single_worker"))
CAFFE = (("convnet_benchmarks", "caffe_layer_geometry"), ("convnet_benchmarks", "caffe_totals"))
FOREIGN = (("simumax", "a100_pcie"),)
WITH_INTERVALS = (
    ("mlpredict_cdec", "convolution"),
    ("mlperf_results", "resnet_systems"),
    ("vtrain", "single_node"),
    ("cmdare", "single_worker"),
)

COMMANDED = (
    *(("neusight", name) for name in ("linear", "bmm", "vector_ops", "conv")),
    *(("mlpredict_cdec", name) for name in ("convolution", "dense")),
    *(("deepbench", name) for name in ("gemm", "conv")),
    ("kernel_tuning_gemm", "gemm"),
    ("cnn_benchmarks", "forward_backward"),
    ("cmdare", "single_worker"),
)

SHARES = "70/30 by numpy RandomState(0).permutation; every size is a group"
LARGEST = "rows above the 80 % quantile of m n k left out, and for the choice of the best so again inside the training rows"
FILE_ORDER = f"rows 1 to {N_TRAIN} train, the next {N_TEST} test (the file is in random order)"
TEN_PRODUCTS = "10 folds, shuffled, seed 0; every product is a group"
TEN_LAYERS = "10 folds, shuffled, seed 0; repeated layers dropped"
ONE_NETWORK = "leave one network out (AlexNet, Overfeat, VGG-A); a network is a group"
FACTORS = "every network by itself: factors 1, 4, 16 of its smallest batch train, 2, 8 and 32 test"
ONE_OF_SERIES = "leave one network out within device and library; repeated measurements merged"
ROWS_AND_COUNT = "each row left out; the largest count of ranks left out"
EACH_ROW = "half precision, median over campaigns; each row left out"
TO_8 = "up to 4 GPUs train, 8 test; every series of network, batch and data by itself"
TO_256 = "up to 64 GPUs train, 128 and 256 test; sixteen a machine"
SYSTEMS = "54 A100 systems, each once: each submitter left out; v1.1 from earlier rounds; 32 GPUs and more from fewer"
LAYOUTS = "5 folds, shuffled, seed 0; each size (width, layers) left out; the most GPUs from fewer"
TO_128 = "up to 32 GPUs train, 64 and 128 test"
UNSEEN_RUNS = "70/30 by numpy RandomState(0).permutation; each network left out; each sequence length left out"
PICKED = "70/30 by numpy RandomState(0).permutation; up to 8 machines train, more test; 1B train, 3B test"
TO_64 = "up to 32 GPUs train, 64 test; eight GPUs a machine"
COUNTS = "every network by itself: 1, 4, 8 workers train, 2, 3, 5, 6, 7 test (constant efficiency: that of 8)"
UNSEEN = "leave one network out: its service time from the others' features, its think time from its own speed on one worker"
ONE_CNN_OUT = "100 rows; leave one network out"
ONE_CNN = "mean over the repetitions of each of 20 CNNs; leave one CNN out; unweighted"
ONE_ROW = "leave one row out, the choice of groups repeated without it; each layout of a model left out"
GROUPS = "convolution: 10 folds, shuffled, seed 0; epochs: each submitter left out; iterations: each model size; CNNs: each CNN"

# fmt: off
_TASKS = (
    Task("A1", "A local model beats the global one inside the measured sizes", LINEAR, SHARES, GPUS, score_inside, mean_gain),
    Task("A2", "The default is as good as the global model beyond the largest sizes", LINEAR, LARGEST, GPUS, score_beyond),
    Task("A3", "Batched products", (("neusight", "bmm"),), f"{SHARES}; first {BATCHED_TESTED} test rows", GPUS, score_batched),
    Task("A4", "Memory-bound kernels are linear in their elements", (("neusight", "vector_ops"),), SHARES, GPUS, score_operators),
    Task("A5", "3 x 3 convolutions, forward", (("neusight", "conv"),), SHARES, GPUS, score_square),
    Task("A6", "Convolution layers, forward or training step", WITH_INTERVALS[:1], FILE_ORDER, CARDS, score_steps),
    Task("A7", "Dense layers, forward or training step", (("mlpredict_cdec", "dense"),), FILE_ORDER, CARDS, score_dense),
    Task("A8", "Few products, transposes", (("deepbench", "gemm"),), TEN_PRODUCTS, BOARDS, score_transposed),
    Task("A9", "Few convolutions, forward", (("deepbench", "conv"),), TEN_LAYERS, BOARDS, score_small),
    Task("A10", "Tuning configurations of one SGEMM kernel", (("kernel_tuning_gemm", "gemm"),), SHARES, TUNED, score_tunings),
    Task("B1", "A network that nobody ran, from the layers of two others", CAFFE, ONE_NETWORK, (), score_networks, sets=(DEVICE,)),
    Task("B2", "Step time is a N + b", (("mxnet_perf", "throughput_vs_batch"),), FACTORS, (), score_batches, sets=MODES),
    Task("B3", "Whole networks from multiply-accumulates and depth: why layer models are needed",
         (("cnn_benchmarks", "forward_backward"),), ONE_OF_SERIES, (), score_whole_networks, sets=SUBJECTS),
    Task("C1", "The form of an all-reduce is chosen by the data", (("deepbench", "allreduce"),), ROWS_AND_COUNT, RANKS,
         score_ranks),
    Task("C2", "Image networks on 8 GPUs from up to 4", (("tf_benchmarks", "throughput"),), TO_8, (), score_machine,
         sets=PLATFORMS),
    Task("C3", "Beyond the machine boundary", (("mxnet_perf", "scaling"),), TO_256, (), score_scaling, sets=("256 GPUs",)),
    Task("C4", "An epoch composed of steps", (("mlperf_results", "resnet_systems"),), SYSTEMS, (), score_epochs,
         sets=tuple(EPOCH_SPLITS)),
    Task("C5", "Layouts on one machine", (("vtrain", "single_node"),), LAYOUTS, (), score_one_node, sets=tuple(LAYOUT_SPLITS)),
    Task("C6", "Layouts on many machines", (("vtrain", "multi_node"),), LAYOUTS, (), score_many_nodes, sets=tuple(LAYOUT_SPLITS)),
    Task("C7", "All-reduce inside one machine: the paper's form is rejected", (("aiconfigurator", "nccl"),), EACH_ROW, INSIDE,
         score_one_machine),
    Task("C8", "All-reduce over more machines than were measured", (("echo_nccl", "all_reduce"),), TO_64, (), score_machines,
         sets=tuple(BEYOND)),
    Task("C9", "Fully sharded steps on four times the GPUs", (("mpt_fsdp", "runs"),), TO_128, (), score_sharded, sets=SHARDED[:1]),
    Task("C10", "Fully sharded steps of networks and lengths that never ran", (("mpt_fsdp", "runs"),), UNSEEN_RUNS, (),
         score_unseen_sharded, sets=SHARDED_SETS),
    Task("C11", "The layout that a model picks", (("ultrascale", "layouts"),), PICKED, (), score_layouts,
         sets=tuple(CHOICE_SPLITS)),
    Task("C12", "Which layouts fail, and the memory of the others", (("ultrascale", "layouts"),), PICKED, (), score_failures,
         sets=tuple(CHOICE_SPLITS)),
    Task("C13", "A foreign predictor calibrated on few measured rows", FOREIGN, ONE_ROW, (), score_calibration, sets=(SIMULATOR,)),
    Task("D1", "Asynchronous workers at one server are a closed queue", SPEEDS[:1], COUNTS, SERVED, score_counts),
    Task("D2", "A network that never ran on more than one worker", SPEEDS, UNSEEN, (), score_unseen, sets=UNSEEN_DEVICES),
    Task("D3", "Selection among collinear features", (("cmdare", "single_worker"),), ONE_CNN, WORKERS, score_selections),
    Task("D4", "A checkpoint takes a + b MB", (("cmdare", "checkpoints"),), ONE_CNN_OUT, (), score_checkpoints, sets=(STORAGE,)),
    Task("T1", "What the command makes of these tables with stated terms", COMMANDED, "those of the tasks named", (), score_stated,
         sets=SUBJECTS_BY_TASK),
    Task("T2", "What the command makes of these tables without a word about terms", COMMANDED, "those of the tasks named", (),
         score_unstated, share_near, SUBJECTS_BY_TASK),
    Task("E1", "95 % prediction intervals on left-out groups", WITH_INTERVALS, GROUPS, CARDS, score_intervals, narrow_sets,
         tuple(SETS)),
)
# fmt: on
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _TASKS})


def task_names() -> tuple[str, ...]:
    """Names of the tasks, in order."""
    return tuple(TASKS)


TASKS_OF_SYSTEMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "parameter-server": ("D1", "D2"),
        "data-parallel": tuple(name for name in ("C1", "C2", "C3", "C4", "C7", "C8") if name in TASKS),
        "fully-sharded": tuple(name for name in ("C9", "C10") if name in TASKS),
        "pipeline": tuple(name for name in ("C5", "C6", "C11", "C12") if name in TASKS),
    }
)
"""Tasks by the system that they judge."""
