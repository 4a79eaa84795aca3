"""Open tables of synchronous training in the columns of tables of steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets.open.open_data import read_open

IMAGES = 1_281_167
VOCABULARY = 51_200
CHIPS_PER_MACHINE, GPUS_PER_MACHINE = 16, 8
FLOAT_BYTES = 4
SHAPES = {"1B": (1.2e9, 16, 2048), "3B": (3.57e9, 28, 3072)}
"""Parameters, layers, width of the networks of `layout_rows`."""

TOKENS, SEQUENCE = 1_048_576, 4_096
COUNTED_MFU = 10.0


def image_rows(platform: str, folder: Path | None) -> pd.DataFrame:
    """Image classification on one machine of a platform: those series that reach 8 GPUs."""
    rows = read_open("tf_benchmarks", "throughput", folder)
    rows = rows[rows["platform"] == platform]
    series = rows["data"].astype(str) + " " + rows["cnn"].astype(str) + " " + rows["subbatch_size"].astype(str)
    made = rows.assign(series=series, n_gpus_per_node=GPUS_PER_MACHINE)
    largest = made.groupby("series")["n_gpus"].transform("max")
    return made[largest == GPUS_PER_MACHINE].reset_index(drop=True)


def scaling_rows(folder: Path | None) -> pd.DataFrame:
    """AlexNet on 1 to 256 GPUs, sixteen a machine."""
    rows = read_open("mxnet_perf", "scaling", folder)
    return rows.assign(n_gpus_per_node=CHIPS_PER_MACHINE, n_params=rows["model_mb"] * 1e6 / FLOAT_BYTES)


def epoch_rows(folder: Path | None) -> pd.DataFrame:
    """A100 systems, each once, with the step behind their epoch and the card and its memory."""
    frame = read_open("mlperf_results", "resnet_systems", folder)
    rows = frame[frame["accelerator"].str.contains("A100")].drop_duplicates(subset=["system", "epoch_s"]).reset_index(drop=True)
    name = rows["accelerator"].str.upper()
    return rows.assign(
        card=np.where(name.str.contains("PCI"), "pcie", "sxm"),
        memory=np.where(name.str.contains("80GB"), "80", "40"),
        n_gpus=rows["n_accelerators"],
        n_gpus_per_node=rows["n_accelerators"] / rows["n_nodes"],
        minibatch_size=rows["global_batch_size"],
        step_s=rows["epoch_s"] * rows["global_batch_size"] / IMAGES,
    )


def iteration_rows(table: str, folder: Path | None) -> pd.DataFrame:
    """Iterations of language models over layouts of data, tensor and pipeline parallelism."""
    rows = read_open("vtrain", table, folder)
    hidden, depth = rows["hidden_size"].astype(float), rows["n_layers"].astype(float)
    return rows.assign(
        width=hidden,
        n_params=12.0 * hidden**2 * depth + VOCABULARY * hidden,
        n_gpus_per_node=GPUS_PER_MACHINE,
        subbatch_size=rows["micro_batch_size"],
        minibatch_size=rows["global_batch_size"],
        step_s=rows["iteration_s"],
        shape=rows["hidden_size"].astype(str) + " x " + rows["n_layers"].astype(str),
    )


def sharded_rows(device: str, folder: Path | None) -> pd.DataFrame:
    """Fully sharded steps of nine networks on one kind of card."""
    rows = read_open("mpt_fsdp", "runs", folder)
    rows = rows[rows["device"] == device].reset_index(drop=True)
    return rows.assign(
        width=rows["d_model"],
        n_params=rows["n_parameters"],
        subbatch_size=rows["micro_batch_size"],
        accumulation=rows["grad_accumulation"],
        minibatch_size=rows["global_batch_size"],
        recomputed=rows["checkpointing"].astype(str).eq("True").astype(float),
        n_gpus_per_node=GPUS_PER_MACHINE,
        step_s=rows["global_batch_size"] * rows["sequence_length"] / rows["tokens_per_s"],
    )


def layout_rows(folder: Path | None) -> pd.DataFrame:
    """Layouts of two language models that ran; ``counted`` where they reach a tenth of the peak."""
    rows = tried_layouts(folder)
    rows = rows[~rows["failed"]].reset_index(drop=True)
    return rows.assign(step_s=TOKENS / rows["tokens_per_s"].astype(float), counted=rows["mfu_percent"].astype(float) >= COUNTED_MFU)


def tried_layouts(folder: Path | None) -> pd.DataFrame:
    """Every layout that was tried; ``failed`` where it did not run, ``memory_bytes`` of the others."""
    rows = read_open("ultrascale", "layouts", folder)
    params, layers, width = (rows["model"].map({name: shape[place] for name, shape in SHAPES.items()}) for place in range(3))
    return rows.assign(
        n_params=params,
        n_layers=layers,
        width=width,
        sequence_length=SEQUENCE,
        n_gpus_per_node=GPUS_PER_MACHINE,
        n_gpus=GPUS_PER_MACHINE * rows["n_nodes"],
        subbatch_size=rows["micro_batch_size"],
        accumulation=rows["grad_accumulation"],
        minibatch_size=TOKENS / SEQUENCE,
        failed=rows["status"] == "failed",
        memory_bytes=1e9 * pd.to_numeric(rows["memory_gb"]).astype(float),
    )


DEVICES = {
    "dgx1_p100": "Tesla P100-SXM2-16GB",
    "gce_k80": "Tesla K80",
    "ec2_k80": "Tesla K80",
    "TITAN X": "NVIDIA TITAN X (Pascal)",
    "GeForce GTX TITAN X": "GeForce GTX TITAN X",
    "GeForce GTX 1080": "NVIDIA GeForce GTX 1080",
    "GeForce GTX 1080 Ti": "NVIDIA GeForce GTX 1080 Ti",
    "P100": "Tesla P100-SXM2-16GB",
    "M40": "Tesla M40",
    "K80": "Tesla K80",
}
"""By platform or device of the source, the device as its data sheet names it."""


def device_rows(folder: Path | None) -> pd.DataFrame:
    """Training steps of known networks on one device, in single precision, by three programs of their time.

    Returns
    -------
    DataFrame
        ``source, device, cnn`` (as the source names it), ``subbatch_size, step_s``. TensorFlow of 2017 and MXNet of 2018 update the
        weights; Torch7 of 2016 goes forward and backward, here with the newest cuDNN that the source has of a device; the mean
        where a network was measured twice.
    """
    images = read_open("tf_benchmarks", "throughput", folder)
    images = images[(images["n_gpus"] == 1) & (images["data"] == "synthetic")]
    tensorflow = images.assign(
        source="TensorFlow, " + images["platform"],
        device=images["platform"].map(DEVICES),
        step_s=images["subbatch_size"] / images["images_per_s"],
    )
    passes = read_open("cnn_benchmarks", "forward_backward", folder)
    passes = passes[passes["gpu"].isin(list(DEVICES)) & (passes["cudnn"] != "none")]
    newest = passes.assign(version=passes["cudnn"].astype(int))
    newest = newest[newest["version"] == newest.groupby("gpu")["version"].transform("max")]
    torch7 = newest.assign(
        source="Torch7", device=newest["gpu"].map(DEVICES), step_s=newest["forward_mean_s"] + newest["backward_mean_s"]
    )
    batches = read_open("mxnet_perf", "throughput_vs_batch", folder)
    batches = batches[(batches["mode"] == "training") & batches["hardware"].isin(list(DEVICES))]
    mxnet = batches.assign(source="MXNet", device=batches["hardware"].map(DEVICES))
    columns = ["source", "device", "cnn", "subbatch_size"]
    both = pd.concat([tensorflow, torch7, mxnet])[[*columns, "step_s"]]
    return both.groupby(columns, sort=False)["step_s"].mean().reset_index()
