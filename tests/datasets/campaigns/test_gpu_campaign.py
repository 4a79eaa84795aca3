"""Import of a GPU campaign; the source files are made up, in that format, from a law of times."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_runs import EXPLICIT, NET, write_run

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import import_gpu_campaign, read_campaign

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "seed1")


def test_kernels_get_names_layers_sizes_and_seconds(run: Path, tmp_path: Path) -> None:
    """Sizes by hand from Table 2 of Oyama et al. (corrected) with x_0 = 12, m = 3 4 5 6, a pool after layer 1, b = 2."""
    import_gpu_campaign([run], tmp_path / "out")
    kernels = read_campaign(tmp_path / "out").table("kernels")
    explicit = kernels[(kernels["backend"] == "cuda-explicit") & (kernels["subbatch_size"] == 2)].set_index(["kernel", "layer"])
    sizes = ["m", "n", "k", "trans"]
    assert explicit.loc[("convolution", "conv1"), sizes].tolist() == [10 * 10 * 2, 4, 9 * 3, "NN"]
    assert explicit.loc[("convolution", "conv2"), sizes].tolist() == [3 * 3 * 2, 5, 9 * 4, "NN"]
    assert explicit.loc[("fc", "fc3"), sizes].tolist() == [2, 6, 3 * 3 * 5, "NN"]
    assert explicit.loc[("dedw", "conv2"), sizes].tolist() == [9 * 4, 5, 3 * 3 * 2, "TN"]
    assert explicit.loc[("dedb", "fc3"), sizes].tolist() == [1, 6, 2, "NN"]
    # dedx and col2im are numbered there by the layer below, which receives the gradient.
    assert explicit.loc[("dedx-fc", "fc3"), sizes].tolist() == [2, 3 * 3 * 5, 6, "NT"]
    assert explicit.loc[("dedx-conv", "conv2"), sizes].tolist() == [3 * 3 * 2, 9 * 4, 5, "NT"]
    assert explicit.loc[("col2im", "conv2"), "access_bytes"] == 3 * 3 * 9 * 4 * 4 * 2
    assert explicit.loc[("im2col", "conv1"), "access_bytes"] == 10 * 10 * 9 * 3 * 4 * 2
    assert explicit.loc[("pool", "pool1"), "access_bytes"] == 10 * 10 * 4 * 4 * 2
    assert explicit.loc[("activation_gradient", "conv2"), "access_bytes"] == 3 * 3 * 5 * 4 * 2
    for number, (kind, _) in enumerate(EXPLICIT, start=1):
        if kind == "pooling":
            assert explicit.loc[("pool", "pool1"), "cpu_s"] == pytest.approx(number * 2e-3, rel=1e-12)
    assert len(explicit) == len(EXPLICIT)


def test_library_layers(run: Path, tmp_path: Path) -> None:
    import_gpu_campaign([run], tmp_path / "out")
    kernels = read_campaign(tmp_path / "out").table("kernels")
    library = kernels[(kernels["backend"] == "cuda-library") & (kernels["subbatch_size"] == 2)].set_index(["kernel", "layer"])
    assert library.index.tolist() == [
        ("conv_forward", "conv1"),
        ("activation_forward", "relu1"),
        ("pool_forward", "pool1"),
        ("fc_forward", "fc3"),
        ("softmax", "fc3"),
        ("fc_backward", "fc3"),
        ("activation_backward", "relu2"),
        ("conv_backward", "conv2"),
        ("pool_backward", "pool1"),
    ]
    assert library.loc[("conv_backward", "conv2"), ["m", "n", "k", "trans"]].tolist() == [18, 5, 36, "NN"]
    assert library.loc[("activation_backward", "relu2"), ["m", "trans", "access_bytes"]].tolist() == [0, "", 3 * 3 * 5 * 4 * 2]


def test_steps_products_and_memory_operations(run: Path, tmp_path: Path) -> None:
    made = import_gpu_campaign([run], tmp_path / "out")
    found = read_campaign(tmp_path / "out")
    steps = found.table("steps").set_index("backend")
    assert steps.loc["cuda-explicit", ["step_s", "cpu_s", "wall_s"]].tolist() == [9e-3, 7e-3, 9e-3]
    assert steps.loc["cuda-library", ["step_s", "cpu_s", "wall_s"]].tolist() == [5e-3, 5e-3, 5e-3]
    sgemm = found.table("sgemm")
    assert sgemm["purpose"].tolist() == ["grid", "grid", "validation"]
    assert sgemm["cpu_s"].tolist() == [1e-3] * 3
    assert sgemm["wall_s"].tolist() == [2e-3] * 3
    updates = found.table("updates").set_index("operation")["cpu_s"]
    assert updates.to_dict() == {
        "fetch_weights": 2e-3,
        "update_gradient": 4e-3,
        "compute_update_value": 5e-3,
        "update_old_weights": 6e-3,
        "update_weights": 6e-3,
        "sum_gradient": 7e-3,
        "add_momentum": 8e-3,
        "update_momentum": 9e-3,
    }
    assert made.left_out == {"copies of pageable memory": 2, "host operations on several threads": 4}
    assert made.n_rows == {name: len(frame) for name, frame in found.tables.items()}
    assert made.device == "Example GPU"
    assert found.host["machine"]["device"] == "Example GPU"
    assert found.host["versions"] == {"torch": "2.13.0", "cuda": "12.6"}


def test_several_runs_are_rounds(run: Path, tmp_path: Path) -> None:
    made = import_gpu_campaign([run, write_run(tmp_path / "seed2", 1.5)], tmp_path / "out", gz=True)
    found = read_campaign(tmp_path / "out")
    assert made.n_rounds == 2
    assert (tmp_path / "out" / "kernels.csv.gz").is_file()
    steps = found.table("steps")
    assert steps["round"].tolist() == [1, 1, 2, 2]
    assert steps["step_s"].tolist() == pytest.approx([9e-3, 5e-3, 13.5e-3, 7.5e-3])
    sequence = [number for frame in found.tables.values() for number in frame["sequence"]]
    assert sorted(sequence) == list(range(len(sequence)))


def test_runs_of_different_devices_or_networks(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"meta.json: got device 'Other', expected 'Example GPU'"):
        import_gpu_campaign([run, write_run(tmp_path / "b", device="Other")], tmp_path / "out")
    other = write_run(tmp_path / "c")
    (other / "cnns.json").write_text(json.dumps([{**NET, "x0": 14, "p": [2, 2]}]))
    with pytest.raises(DataError, match=r"cnns.json: got other networks"):
        import_gpu_campaign([run, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


Spoil = Callable[[Path], object]
FAULTS: dict[str, tuple[Spoil, str]] = {
    "no meta.json": (lambda run: (run / "meta.json").unlink(), r"meta.json: cannot be read"),
    "no table": (lambda run: (run / "sgemm.csv").unlink(), r"sgemm.csv: cannot be read"),
    "negative time": (
        lambda run: replace(run / "cnn_whole.csv", "9.0", "-9.0"),
        r"cnn_whole.csv, line 2, column whole_stream_ms: got '-9.0', expected milliseconds > 0",
    ),
    "unknown kernel": (
        lambda run: replace(run / "cnn_explicit.csv", "pooling", "poling"),
        r"cnn_explicit.csv, line \d+, column kernel: got 'poling'",
    ),
    "unknown network": (lambda run: replace(run / "cnn_library.csv", "G00", "G01"), r"cnn_library.csv, column cnn: got 'G01'"),
    "network without maps": (lambda run: replace(run / "cnns.json", '"m"', '"maps"'), r"cnns.json: \$\[0\].m: missing key"),
    "network that is a text": (
        lambda run: (run / "cnns.json").write_text('["G00"]'),
        r"cnns.json: \$\[0\]: got 'G00', expected an object",
    ),
    "maps that are no numbers": (
        lambda run: replace(run / "cnns.json", "[3, 4", '["N", 4'),
        r"m\[0\]: got 'N', expected a whole",
    ),
    "size that is a list": (
        lambda run: replace(run / "cnns.json", '"x0": 12', '"x0": {}'),
        r"x0: got \{\}, expected a whole",
    ),
    "another document": (lambda run: (run / "cnns.json").write_text("{}"), r"cnns.json, line 1: got an object, expected a list"),
    "brackets": (lambda run: (run / "meta.json").write_text("[" * 100_000), r"meta.json: is nested too deeply"),
    "layer that is not there": (
        lambda run: replace(run / "cnn_explicit.csv", "pooling,1", "pooling,2"),
        r"no 'pool' on layer 'pool2'",
    ),
}


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_the_source_are_named(fault: str, run: Path, tmp_path: Path) -> None:
    spoil, words = FAULTS[fault]
    spoil(run)
    with pytest.raises(DataError, match=words):
        import_gpu_campaign([run], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_existing_folders_are_left_alone(run: Path, tmp_path: Path) -> None:
    import_gpu_campaign([run], tmp_path / "out")
    with pytest.raises(UsageError, match="got a folder that holds files"):
        import_gpu_campaign([run], tmp_path / "out")
    import_gpu_campaign([run], tmp_path / "out", force=True)
    with pytest.raises(UsageError, match="got no folder"):
        import_gpu_campaign([], tmp_path / "other")
