"""Open tables in the columns of steps: counts as the data's pages state them, steps against the published rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.datasets.open.step_rows import (
    device_rows,
    epoch_rows,
    image_rows,
    iteration_rows,
    layout_rows,
    scaling_rows,
    sharded_rows,
)
from mlperf.specs.devices import device_sheet

pytestmark = pytest.mark.data


def test_counts_are_the_stated_ones(shared_data: Path) -> None:
    assert sum(image_rows(name, shared_data)["series"].nunique() for name in ("dgx1_p100", "ec2_k80", "gce_k80")) == 44
    assert len(scaling_rows(shared_data)) == 9
    assert len(epoch_rows(shared_data)) == 54
    assert [len(iteration_rows(name, shared_data)) for name in ("single_node", "multi_node")] == [864, 65]
    assert [len(sharded_rows(card, shared_data)) for card in ("a100_40gb", "a100_80gb")] == [78, 61]
    layouts = layout_rows(shared_data)
    assert (len(layouts), int(layouts["counted"].sum())) == (1_127, 522)


def test_the_published_share_of_the_peak_follows_from_the_step(shared_data: Path) -> None:
    """MFU: 6 parameters and 12 layers width sequence a token, over 312 teraFLOP/s of an A100."""
    rows = sharded_rows("a100_80gb", shared_data)
    tokens = rows["minibatch_size"] * rows["sequence_length"]
    flops = tokens * (6.0 * rows["n_params"] + 12.0 * rows["n_layers"] * rows["width"] * rows["sequence_length"])
    share = 100.0 * flops / rows["step_s"] / rows["n_gpus"] / 312e12
    assert (share / rows["mfu_percent"]).to_numpy() == pytest.approx(1.0, rel=0.01)


def test_steps_on_one_device_are_those_of_the_sources_and_every_device_has_a_data_sheet(shared_data: Path) -> None:
    rows = device_rows(shared_data)
    assert len(rows) == 9 + 7 + 7 + 10 + 8 + 9 + 10 + 3 * 3 * 6
    assert all(device_sheet(name) for name in rows["device"].unique())
    own = rows[(rows["source"] == "TensorFlow, dgx1_p100") & (rows["cnn"] == "ResNet-50") & (rows["subbatch_size"] == 64)]
    assert own["step_s"].item() == pytest.approx(64 / 219.0)
    assert not rows.duplicated(["source", "device", "cnn", "subbatch_size"]).any()
