"""Records of ranks, from binary files made here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.trainer.ledger import GPU_RECORD, UPDATE_RECORD, USE_RECORD
from mlperf.collect.trainer.records import NOT_USED, read_records
from mlperf.core.errors import DataError

from .test_job import JOB

ALONE = replace(JOB, n_nodes=1, n_gpus_per_node=1)


def ledgers(folder: Path, uses: list[tuple[int, int, int, int]]) -> Path:
    """Files of one rank: ten updates, ten iterations of one worker, a tenth of a second each."""
    for name, kind in (("update-0", UPDATE_RECORD), ("gpu-0-0", GPU_RECORD)):
        rows = np.zeros(10, kind)
        rows["start_s"] = 0.1 * np.arange(10)
        rows.tofile(folder / f"{name}.bin")
    np.array(uses, USE_RECORD).tofile(folder / "use-0.bin")
    return folder


def test_a_gradient_knows_the_update_that_used_it(tmp_path: Path) -> None:
    records = read_records(ALONE, ledgers(tmp_path, [(0, 0, 0, 2), (0, 3, 1, 7), (1, 1, 0, 5)]))
    assert records.gpu["update"].tolist() == [2, NOT_USED, NOT_USED, 7, *[NOT_USED] * 6]
    assert records.end == ()


def test_a_torn_last_record_is_left_out(tmp_path: Path) -> None:
    folder = ledgers(tmp_path, [(0, 0, 0, 2)])
    content = (folder / "update-0.bin").read_bytes()
    (folder / "update-0.bin").write_bytes(content[:-3])
    assert len(read_records(ALONE, folder).updates) == 9


def test_a_gradient_that_was_used_twice_is_a_damaged_record(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"use-0\.bin: got the gradient of iteration 4 of worker 0 twice"):
        read_records(ALONE, ledgers(tmp_path, [(0, 4, 0, 2), (0, 4, 0, 3)]))


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_what_a_rank_did_not_say_names_the_file(content: bytes, tmp_path: Path) -> None:
    (ledgers(tmp_path, []) / "rank-0.end").write_bytes(content)
    with pytest.raises(DataError, match=r"rank-0\.end"):
        read_records(ALONE, tmp_path)
