"""A million configurations of every system, searched: seconds of CPU beside those that the equations of SPRINT take.

Run ``python benchmarks/search_systems.py [SYSTEM ...]``. The times of the components come from the shipped model and AlexNet on a
made-up cluster of 1,000 nodes; a search reads them, solves, ranks, and draws the best rows again.
"""

from __future__ import annotations

import sys
import time

import mlperf
from mlperf.systems.registry import SYSTEMS

NODES, GPUS, SUBBATCHES = 1000, (1, 2, 4, 8), (1, 2, 4, 8, 16)
EXTRA = {
    "data-parallel": {"accumulation": range(1, 11), "n_buckets": range(1, 6)},
    "fully-sharded": {"accumulation": range(1, 11), "prefetch": range(1, 6)},
    "pipeline": {"stages": (1, 2, 4, 8, 16), "micro_batches": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)},
    "parameter-server": {"n_servers": range(1, 51)},
    "stale-synchronous": {"n_servers": range(1, 11), "staleness_bound": range(5)},
    "sprint-server": {"n_servers": range(1, 51)},
}
PEER = "sprint-server"


def seconds_of(model: object, name: str) -> tuple[float, int]:
    """CPU seconds of one search, and its configurations."""
    machine = mlperf.MachineSpec("cluster", NODES, max(GPUS), latency_s=1e-5, bandwidth_bytes_per_s=1e10)
    job = mlperf.JobSpec(dataset_size=1_281_167)
    sizes = {"n_nodes": range(1, NODES + 1), "n_gpus_per_node": GPUS, "subbatch_size": SUBBATCHES}
    started = time.process_time()
    found = mlperf.search_system(model, name, "alexnet", machine, job, settings=EXTRA[name], **sizes)
    return time.process_time() - started, found.n_configs


def main(names: list[str]) -> None:
    """Print one line a system."""
    model = mlperf.load_model("cpu-epyc")
    asked = names or [name for name in SYSTEMS if name in EXTRA]
    print(f"{'system':20}{'configurations':>16}{'CPU s':>9}{'over ' + PEER:>22}", flush=True)
    peer = seconds_of(model, PEER)
    for name in asked:
        seconds, n_configs = peer if name == PEER else seconds_of(model, name)
        print(f"{name:20}{n_configs:16,}{seconds:9.1f}{seconds / peer[0]:22.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
