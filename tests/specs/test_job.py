"""Jobs: TOML, overrides, errors."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.specs.job import JobSpec, read_job, write_job
from mlperf.specs.network.fields import overridden


def test_reading_gives_back_what_was_written(tmp_path):
    for job in (
        JobSpec(1281167, 4, 8, 90, (103.5, 172.5)),
        JobSpec(10),
        JobSpec(10, epochs=0.5, data_type="bf16", optimizer="adam"),
    ):
        write_job(job, tmp_path / "job.toml")
        assert read_job(tmp_path / "job.toml") == job


def test_cells_of_a_table_are_numbers(tmp_path):
    cells = JobSpec(np.int64(50_000), np.int32(4), n_nodes=np.uint8(8), epochs=np.float32(0.5))
    assert cells == JobSpec(50_000, 4, n_nodes=8, epochs=0.5)
    assert {type(value) for value in (cells.dataset_size, cells.subbatch_size, cells.n_nodes)} == {int}
    write_job(cells, tmp_path / "job.toml")
    assert read_job(tmp_path / "job.toml") == cells
    with pytest.raises(DataError, match=r"n_nodes: got 2\.5, expected a whole number"):
        JobSpec(50_000, n_nodes=np.float64(2.5))


def test_flags_override_the_file():
    job = JobSpec(1281167, 4, 8, 90, (103.5, 172.5))
    assert overridden(job, n_nodes=16, subbatch_size=None) == JobSpec(1281167, 4, 16, 90, (103.5, 172.5))
    with pytest.raises(DataError, match="minibatch: got"):
        overridden(job, minibatch=(5, 1))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("subbatch_size = 4", "job", "got no key 'dataset_size'"),
        ("dataset_size = 10\nsub_batch_size = 4", "job", "got key 'sub_batch_size'"),
        ("dataset_size = 0", "job, dataset_size", "got 0, expected a whole number >= 1"),
        ("dataset_size = 10\nsubbatch_size = 1.5", "job, subbatch_size", "got 1.5, expected a whole number >= 1"),
        ("dataset_size = 10\nn_nodes = -1", "job, n_nodes", "got -1, expected"),
        ("dataset_size = 10\nepochs = 0", "job, epochs", "got 0, expected a number > 0"),
        ("dataset_size = 10\nepochs = inf", "job, epochs", "got inf, expected a number > 0"),
        ("dataset_size = 10\nminibatch = [172.5, 103.5]", "job, minibatch", "got [172.5, 103.5], expected [low, high]"),
        ("dataset_size = 10\nminibatch = [0, 3]", "job, minibatch", "got [0, 3]"),
        ("dataset_size = 10\nminibatch = 138", "job, minibatch", "got 138"),
        ("dataset_size = 10\ndata_type = 'bf61'", "job, data_type", "got 'bf61', expected one of fp32, tf32, bf16, fp16"),
        ("dataset_size = 10\noptimizer = 'lasr'", "job, optimizer", "got 'lasr', expected one of sgd, momentum_sgd, adam, lars"),
    ],
)
def test_mistakes_name_file_and_key(text, place, message, tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_job(path)
    assert caught.value.place == f"{path}, {place}"
    assert message in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_toml_names_file_and_line(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text("dataset_size = 10\nepochs 3\n")
    with pytest.raises(DataError, match="line 2") as caught:
        read_job(path)
    assert caught.value.place == str(path)


def test_a_whole_number_with_an_exponent_is_told_as_a_whole_one():
    with pytest.raises(DataError, match=r"got 50000\.0(.|\n)*without a point and an exponent: dataset_size = 50000"):
        JobSpec(5e4)
