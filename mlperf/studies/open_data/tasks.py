"""The table of tasks, by name: what is claimed, the tables that judge it, how rows are split, where it is run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlperf.studies.open_data.batches import MODES, score_batches
from mlperf.studies.open_data.collinear import DEVICES as WORKERS
from mlperf.studies.open_data.collinear import score_selections
from mlperf.studies.open_data.coverage import SETS, narrow_sets, score_intervals
from mlperf.studies.open_data.layers import CARDS, N_TEST, N_TRAIN, score_dense, score_small, score_square, score_steps
from mlperf.studies.open_data.networks import DEVICE, score_networks
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
from mlperf.studies.open_data.task import Task
from mlperf.studies.open_data.tuning import DEVICES as TUNED
from mlperf.studies.open_data.tuning import score_tunings
from mlperf.studies.open_data.vectors import score_operators
from mlperf.studies.open_data.whole_networks import SUBJECTS, score_whole_networks

LINEAR = (("neusight", "linear"),)
CAFFE = (("convnet_benchmarks", "caffe_layer_geometry"), ("convnet_benchmarks", "caffe_totals"))
WITH_INTERVALS = (
    ("mlpredict_cdec", "convolution"),
    ("mlperf_results", "resnet_systems"),
    ("vtrain", "single_node"),
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
ONE_CNN = "mean over the repetitions of each of 20 CNNs; leave one CNN out; unweighted"
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
    Task("D3", "Selection among collinear features", (("cmdare", "single_worker"),), ONE_CNN, WORKERS, score_selections),
    Task("E1", "95 % prediction intervals on left-out groups", WITH_INTERVALS, GROUPS, CARDS, score_intervals, narrow_sets,
         tuple(SETS)),
)
# fmt: on
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _TASKS})


def task_names() -> tuple[str, ...]:
    """Names of the tasks, in order."""
    return tuple(TASKS)
