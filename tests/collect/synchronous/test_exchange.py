"""Real ranks: the sum over MPI, and that N processes with an all-reduce are one process on the whole batch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlperf.collect.trainer.launch import mpiexec_command
from mlperf.core.threads import ONE_THREAD

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
from mlperf.collect.synchronous.batches import rows_of_step
from mlperf.collect.synchronous.exchange import MpiExchange
from mlperf.collect.synchronous.steps import synchronous_step
from mlperf.collect.synchronous.work import NumpyWork
from mlperf.specs import CnnSpec

comm = MPI.COMM_WORLD
rank, n = comm.Get_rank(), comm.Get_size()
exchange = MpiExchange(comm, yields=sys.argv[1] == "yields", limit_s=60.0)
own = np.full(5, 10.0**rank)
exchange.sum(own)
assert own.tolist() == [sum(10.0**each for each in range(n))] * 5
assert exchange.agree(float(rank)) == 0.0
net = CnnSpec.from_sprint("tiny", 14, (1, 4, 5, 6, 7), (2,), 3)
rng = np.random.default_rng(0)
images, labels = rng.standard_normal((64, 14, 14, 1)), rng.integers(0, 7, 64)

def train(n_processes, subbatch_size, rank):
    work = NumpyWork(net, images, labels, subbatch_size, seed=1, learning_rate=0.1, momentum=0.9, dtype=np.float64)
    for step in range(12):
        synchronous_step(work, exchange, rows_of_step(step, rank, n_processes, subbatch_size, 64, 5), n_processes)
    return work.weights()

together = train(n, 4, rank)
alone = train(1, 4 * n, 0)
first = train(1, 4, rank)
gathered = exchange.gather(together)
if rank == 0:
    assert (gathered == gathered[0]).all()
    print(n, np.abs(together - alone).max() / np.abs(alone).max(), np.abs(first - alone).max() / np.abs(alone).max())
"""


@pytest.mark.parametrize(("n_processes", "how"), [(2, "blocks"), (3, "yields")])
def test_processes_with_an_all_reduce_are_one_process_on_the_whole_batch(tmp_path: Path, n_processes: int, how: str) -> None:
    """Twelve steps with momentum, weights to rounding; a process that exchanged nothing would be elsewhere."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [*mpiexec_command(None), "-n", str(n_processes), sys.executable, str(program), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **ONE_THREAD}, check=False)
    assert done.returncode == 0, done.stderr
    count, together, apart = map(float, done.stdout.split())
    assert count == n_processes
    assert together < 1e-12
    assert apart > 1e-3
