"""Shards of a data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.trainer.samples import digits_samples
from mlperf.collect.trainer.shards import Shard, write_shards


def test_a_shard_reads_the_samples_its_labels_belong_to(tmp_path: Path) -> None:
    samples = digits_samples(seed=1)
    write_shards(samples, 3, tmp_path, seed=2)
    for node in range(3):
        shard = Shard(tmp_path, node, 5)
        labels = shard.load(np.random.default_rng(4))
        chosen = shard.indices[np.random.default_rng(4).integers(0, len(shard.indices), 5)]
        assert np.array_equal(labels, samples.labels[chosen])
        assert shard.images == pytest.approx(samples.images[chosen] / 255.0)
        shard.close()
