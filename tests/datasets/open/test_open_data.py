"""Open data read in place: units, names, row counts of the data's own READMEs."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import list_data, open_tables, read_open
from mlperf.datasets.open.open_data import in_seconds, open_names

ROWS = {  # as the README of each data set states them
    ("neusight", "linear"): 25_801,
    ("neusight", "bmm"): 69_831,
    ("neusight", "conv"): 19_710,
    ("neusight", "vector_ops"): 47_600,
    ("neusight", "devices"): 5,
    ("mlpredict_cdec", "convolution"): 34_000,
    ("mlpredict_cdec", "dense"): 34_000,
    ("deepbench", "gemm"): 640,
    ("deepbench", "conv"): 376,
    ("deepbench", "allreduce"): 140,
    ("deepbench", "specs"): 47,
    ("convnet_benchmarks", "caffe_layer_geometry"): 56,
    ("convnet_benchmarks", "caffe_layers"): 230,
    ("convnet_benchmarks", "caffe_totals"): 18,
    ("convnet_benchmarks", "torch_imagenet_winners"): 108,
    ("convnet_benchmarks", "torch_single_convolutions"): 40,
    ("cnn_benchmarks", "forward_backward"): 129,
    ("mxnet_perf", "throughput_vs_batch"): 339,
    ("mxnet_perf", "scaling"): 9,
    ("tf_benchmarks", "throughput"): 182,
    ("cmdare", "cluster_speed"): 48,
    ("cmdare", "cluster_speed_series"): 2_600,
    ("cmdare", "single_worker"): 520,
    ("cmdare", "checkpoints"): 100,
    ("mlperf_results", "resnet_systems"): 74,
    ("mlperf_results", "resnet_runs"): 370,
    ("mlperf_results", "resnet_epochs"): 11_246,
    ("vtrain", "single_node"): 864,
    ("vtrain", "multi_node"): 65,
    ("mpt_fsdp", "runs"): 139,
    ("ultrascale", "layouts"): 1_650,
    ("kernel_tuning_gemm", "gemm"): 35_912,
    ("simd_tensor", "measurements"): 5_186,
    ("simd_tensor", "cachegrind_gcc_O2_sse3_fast_N50"): 648,
    ("simd_tensor", "cachegrind_other_sizes"): 1_763,
    ("simd_tensor", "llvm_mca19_gcc_O2_sse3_fast_N100"): 648,
    ("aiconfigurator", "nccl"): 2_016,
    ("echo_nccl", "all_reduce"): 183,
    ("simumax", "a100_pcie"): 30,
    ("dwc_online", "dwc_rates"): 1_439,
    ("dwc_online", "raw_counters"): 1_440,
    ("dwc_online", "raw_counters_fixed"): 720,
}


def test_every_table_is_listed_here() -> None:
    assert {(name, table.name) for name in open_names() for table in open_tables(name)} == set(ROWS)


@pytest.mark.parametrize(("name", "table"), list(ROWS))
def test_rows_units_and_names(name: str, table: str, shared_data: Path) -> None:
    frame = read_open(name, table, shared_data)
    described = next(one for one in open_tables(name) if one.name == table)
    assert len(frame) == ROWS[name, table]
    assert not [column for column in frame if column.endswith(("_ms", "_us"))]
    assert set(described.renamed.values()) - {"maps_out", "filter_size", "subbatch_size", "maps_in", "cnn"} <= set(frame.columns)


TIMES = [
    ("neusight", "linear", "latency_ms", "time_s"),
    ("mlpredict_cdec", "convolution", "time_median_ms", "time_median_s"),
    ("deepbench", "allreduce", "time_mean_ms", "time_s"),
    ("deepbench", "conv", "forward_ms", "forward_s"),
    ("vtrain", "single_node", "iteration_ms", "iteration_s"),
    ("kernel_tuning_gemm", "gemm", "time_ms_median", "time_median_s"),
    ("convnet_benchmarks", "caffe_layer_geometry", "caffe_backward_ms", "caffe_backward_s"),
]


@pytest.mark.parametrize(("name", "table", "theirs", "ours"), TIMES)
def test_times_are_the_files_in_seconds(name: str, table: str, theirs: str, ours: str, shared_data: Path) -> None:
    frame = read_open(name, table, shared_data)
    packed = shared_data / name / f"{table}.csv.gz"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else packed.with_suffix("").read_text(encoding="utf-8")
    first = next(csv.DictReader(io.StringIO(text)))
    assert frame[ours].iloc[0] == pytest.approx(float(first[theirs]) / 1000, rel=1e-12)


def test_step_times_follow_from_throughput(shared_data: Path) -> None:
    """AlexNet, 512 images a GPU: 457.07 images/s on one, 870.43 on two."""
    frame = read_open("mxnet_perf", "scaling", shared_data).set_index("n_gpus")
    assert frame.loc[1, "step_s"] == pytest.approx(512 / 457.07)
    assert frame.loc[2, "step_s"] == pytest.approx(2 * 512 / 870.43)


def test_shapes_of_caffe_layers(shared_data: Path) -> None:
    """The first convolution of AlexNet: 128 samples, 3 maps of 224 to 64 maps of 55."""
    frame = read_open("convnet_benchmarks", "caffe_layer_geometry", shared_data).set_index(["cnn", "layer"])
    assert frame.loc[("alexnet", "conv1"), ["subbatch_size", "maps_in", "size_in", "maps_out", "size_out"]].tolist() == [
        128,
        3,
        224,
        64,
        55,
    ]


def test_open_data_are_listed(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLPERF_SHARED_DATA", str(shared_data))
    found = {one.name: one for one in list_data().data_sets if one.kind == "open"}
    assert set(found) == set(open_names())
    assert found["neusight"].licence == "MIT"
    assert found["cmdare"].licence == "Apache-2.0"
    assert found["vtrain"].n_rows == 864 + 65


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set in the format of one of the open ones, with made-up rows."""
    (tmp_path / "deepbench").mkdir()
    (tmp_path / "deepbench" / "gemm.csv").write_text("device,m,n,k,trans_a,trans_b,time_ms\nA,1,2,3,N,T,2.5\n", encoding="utf-8")
    (tmp_path / "deepbench" / "allreduce.csv.gz").write_bytes(
        gzip.compress(b"n_floats,n_ranks,time_mean_ms,time_sd_ms\n1000,4,0.5,\n")
    )
    return tmp_path


def test_plain_and_packed_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLPERF_SHARED_DATA", str(folder))
    assert read_open("deepbench", "gemm").iloc[0].tolist() == ["A", 1, 2, 3, "N", "T", 2.5e-3, "NT"]
    allreduce = read_open("deepbench", "allreduce")
    assert allreduce.columns.tolist() == ["n_floats", "n_ranks", "time_s", "time_std_s", "size_bytes"]
    assert allreduce["time_s"].tolist() == [5e-4]
    assert allreduce["size_bytes"].tolist() == [4000]
    assert allreduce["time_std_s"].isna().all()


def test_unset_variable_and_missing_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLPERF_SHARED_DATA", raising=False)
    with pytest.raises(DataError, match="MLPERF_SHARED_DATA: is not set") as caught:
        read_open("deepbench", "gemm")
    assert "deepbench/" in str(caught.value.hint)
    with pytest.raises(DataError, match=r"deepbench: got no conv.csv or conv.csv.gz"):
        read_open("deepbench", "conv", folder)


def test_unknown_names(folder: Path) -> None:
    with pytest.raises(UsageError, match="got open data 'deepbenchh'") as caught:
        read_open("deepbenchh", "gemm", folder)
    assert "'deepbench'" in str(caught.value.hint)
    with pytest.raises(UsageError, match="got table 'gem' of deepbench") as caught:
        read_open("deepbench", "gem", folder)
    assert "'gemm'" in str(caught.value.hint)


def test_units_in_column_names() -> None:
    import pandas as pd

    frame = in_seconds(pd.DataFrame({"a_ms": [1.0], "b_us": [1.0], "time_ms_sd": [2.0], "items": [3.0], "c_s": [4.0]}))
    assert frame.columns.tolist() == ["a_s", "b_s", "time_s_sd", "items", "c_s"]
    assert frame.iloc[0].tolist() == [1e-3, 1e-6, 2e-3, 3.0, 4.0]


def test_a_cell_of_another_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "mlperf_results").mkdir()
    path = tmp_path / "mlperf_results" / "resnet_runs.csv"
    path.write_text("system,run_s,init_s\na,10.5,\nb,soon,1\nc,9.5,1\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_open("mlperf_results", "resnet_runs", tmp_path)
    assert caught.value.place == f"{path}, line 3, column run_s"
    path.write_text("system,run_s,init_s\na,10.5,\nb,9.5,1\n", encoding="utf-8")
    assert read_open("mlperf_results", "resnet_runs", tmp_path)["init_s"].isna().tolist() == [True, False]
