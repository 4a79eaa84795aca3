"""Processes together read what one reads alone; every sample once an epoch."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.synchronous.batches import rows_of_step, samples_of
from mlperf.collect.trainer.samples import digits_cnn
from mlperf.specs import CnnSpec


@pytest.mark.parametrize("n_processes", [2, 4])
def test_together_they_read_what_one_reads_alone(n_processes: int) -> None:
    for step in (0, 5, 40):
        parts = [rows_of_step(step, rank, n_processes, 8, 100, 3) for rank in range(n_processes)]
        alone = rows_of_step(step, 0, 1, 8 * n_processes, 100, 3)
        assert np.concatenate(parts).tolist() == alone.tolist()


def test_every_sample_comes_once_an_epoch_in_another_order() -> None:
    epochs = [np.concatenate([rows_of_step(step, 0, 1, 10, 100, 0) for step in range(10 * e, 10 * e + 10)]) for e in (0, 1)]
    for epoch in epochs:
        assert sorted(epoch.tolist()) == list(range(100))
    assert epochs[0].tolist() != epochs[1].tolist()


def test_a_batch_larger_than_the_data_begins_again() -> None:
    rows = rows_of_step(0, 0, 1, 25, 10, 0)
    assert np.bincount(rows, minlength=10).tolist() != []
    assert (np.bincount(rows, minlength=10) >= 2).all()


def test_networks_that_cannot_read_digits_get_random_images_of_their_own_size() -> None:
    assert samples_of(digits_cnn(), None, 0).name == "digits"
    other = CnnSpec.from_sprint("other", 14, (3, 4, 5, 6, 7), (2,), 3)
    found = samples_of(other, None, 0)
    assert found.name == "random"
    assert found.images.shape[1:] == (14, 14, 3)
    assert found.labels.max() < other.output_shape.size
