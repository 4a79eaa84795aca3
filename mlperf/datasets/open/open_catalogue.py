"""The open data that accuracy is studied on: which tables there are, and what their columns are called here.

Nothing of them is part of the package. Whose they are, how they were measured and under which licence stands in the README
of each folder. Columns keep the source's names but for those below; every ``*_ms`` and ``*_us`` becomes ``*_s`` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OpenTable:
    """One file of the open data.

    Attributes
    ----------
    name : str
        File name without ``.csv`` or ``.csv.gz``.
    doc : str
        What a row is.
    renamed : Mapping[str, str]
        Name there, times already in seconds: name here.
    """

    name: str
    doc: str
    renamed: Mapping[str, str] = field(default_factory=dict)


LATENCY = {"latency_s": "time_s"}
MAPS = {"in_channels": "maps_in", "out_channels": "maps_out", "channels_in": "maps_in", "channels_out": "maps_out"}
BATCH = {"batch": "subbatch_size", "batch_size": "subbatch_size", "batch_per_gpu": "subbatch_size"}
CONVOLUTION = {**MAPS, **BATCH, "kernel_size": "filter_size", "kernel": "filter_size", "num_output": "maps_out"}
NETWORK = {"network": "cnn", "net": "cnn", "model": "cnn"}
TUNED = {"time_s_mean": "time_mean_s", "time_s_median": "time_median_s", "time_s_sd": "time_std_s", "time_s_min": "time_min_s"}

OPEN_DATA: dict[str, tuple[OpenTable, ...]] = {
    "neusight": (
        OpenTable("linear", "y = x W^T on four GPUs: m, n, k, time_s", LATENCY),
        OpenTable("bmm", "batched product on four GPUs: batch, m, n, k, time_s", LATENCY),
        OpenTable("conv", "3 x 3 convolution forward on four GPUs", {**LATENCY, **CONVOLUTION}),
        OpenTable("vector_ops", "vector operators on rows x columns", {**LATENCY, "op": "operation"}),
        OpenTable("devices", "data-sheet values of the devices"),
    ),
    "mlpredict_cdec": (
        OpenTable("convolution", "one random convolution layer, forward or training step; time_median_s", CONVOLUTION),
        OpenTable("dense", "one random fully connected layer, forward or training step; time_median_s", BATCH),
    ),
    "deepbench": (
        OpenTable("gemm", "one product: m, n, k, trans (added: trans_a and trans_b), time_s"),
        OpenTable(
            "conv", "one convolution: forward_s, backward_inputs_s (missing for first layers), backward_params_s", CONVOLUTION
        ),
        OpenTable(
            "allreduce", "one all-reduce: n_ranks, size_bytes (added), time_s", {"time_mean_s": "time_s", "time_sd_s": "time_std_s"}
        ),
        OpenTable("specs", "processor, driver and library versions as submitted"),
    ),
    "convnet_benchmarks": (
        OpenTable(
            "caffe_layer_geometry",
            "one layer of three networks, im2col + SGEMM; added: subbatch_size, maps_in, size_in, maps_out, size_out",
            {**NETWORK, "kernel": "filter_size"},
        ),
        OpenTable("caffe_layers", "one layer and pass: time_s", NETWORK),
        OpenTable("caffe_totals", "whole networks: time_s by library and pass", NETWORK),
        OpenTable("torch_imagenet_winners", "whole-network operators of other libraries: time_s", {**NETWORK, "op": "operation"}),
        OpenTable("torch_single_convolutions", "five single convolutions: time_s", {**MAPS, **BATCH, "op": "operation"}),
    ),
    "cnn_benchmarks": (
        OpenTable("forward_backward", "whole networks: forward_mean_s, backward_mean_s and their spread", {**NETWORK, **BATCH}),
    ),
    "mxnet_perf": (
        OpenTable("throughput_vs_batch", "step_s against subbatch_size, training and inference", {**NETWORK, **BATCH}),
        OpenTable("scaling", "AlexNet on 1 to 256 GPUs: images_per_s, step_s (added)", {**NETWORK, **BATCH, "n_gpu": "n_gpus"}),
    ),
    "tf_benchmarks": (
        OpenTable(
            "throughput", "five networks on 1 to 8 GPUs: images_per_s, step_s (added)", {**NETWORK, **BATCH, "n_gpu": "n_gpus"}
        ),
    ),
    "cmdare": (
        OpenTable("cluster_speed", "asynchronous training with one server: steps_per_s by n_workers", NETWORK),
        OpenTable("cluster_speed_series", "the readings behind cluster_speed", NETWORK),
        OpenTable("single_worker", "20 CNNs on one worker: n_flops, n_params, n_tensors, step_time_s", NETWORK),
        OpenTable("checkpoints", "checkpoint sizes and times", NETWORK),
    ),
    "mlperf_results": (
        OpenTable("resnet_systems", "one system: n_nodes, n_accelerators, global_batch_size, epoch_s"),
        OpenTable("resnet_runs", "one training run: run_s, init_s"),
        OpenTable("resnet_epochs", "one epoch of one run: time_s"),
    ),
    "vtrain": (
        OpenTable("single_node", "one GPT iteration on one machine: iteration_s"),
        OpenTable("multi_node", "one GPT iteration on 64 to 512 GPUs: iteration_s"),
    ),
    "kernel_tuning_gemm": (OpenTable("gemm", "one tuning configuration of one SGEMM kernel: time_median_s", TUNED),),
    "simd_tensor": (
        OpenTable("measurements", "one tensor-contraction kernel: five times, instruction counts"),
        OpenTable("cachegrind_gcc_O2_sse3_fast_N50", "simulated cache misses of the kernels at N = 50"),
        OpenTable("cachegrind_other_sizes", "simulated cache misses at other sizes and caches"),
        OpenTable("llvm_mca19_gcc_O2_sse3_fast_N100", "static throughput estimates: mca_s"),
    ),
    "dwc_online": (
        OpenTable("dwc_rates", "counters per second beside performance; w_run_ns and w_wait_ns are nanoseconds a second"),
        OpenTable("raw_counters", "the cumulative counters, phased programme; w_run_ns and w_wait_ns in nanoseconds"),
        OpenTable("raw_counters_fixed", "the cumulative counters, fixed programme"),
    ),
}
