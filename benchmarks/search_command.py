"""``mlperf search`` over 10,000 and over a million configurations: the grid alone, and the whole command after start-up.

Run: ``python benchmarks/search_command.py MODEL.json``. Prints CPU and wall seconds: minimum of five runs, of the million the
only run, for every kind of window.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from mlperf import load_model, search_runs
from mlperf.planning.component_times import predict_times
from mlperf.planning.inputs import configuration_inputs, configurations
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.systems.sprint.equations import solve_iterations

NODES = SUBBATCHES = range(1, 101)
MANY = range(1, 1001)
RUNS = 5
WINDOWS: dict[str, dict[str, float]] = {"mean": {}, "90 % quantile": {"window_quantile": 0.9}, "staleness": {"max_staleness": 5.0}}


def least(function: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """CPU and wall seconds of the quickest of ``runs`` runs."""
    found = []
    for _ in range(runs):
        cpu, wall = time.process_time(), time.perf_counter()
        function()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(found)


def main() -> None:
    """Print a line a case."""
    model = load_model(sys.argv[1])
    cnn, machine, job = load_cnn("resnet18"), load_machine("cpu-cluster"), JobSpec(dataset_size=60_000)
    configs = configurations([0], NODES, machine.n_gpus_per_node, SUBBATCHES, job.dataset_size)
    inputs = configuration_inputs(model, [cnn], machine, configs)
    times, run = predict_times(model, inputs).times, inputs.run
    cases = {
        "second_moment grid": lambda: solve_iterations(times, run, "second_moment"),
        "whole search": lambda: search_runs(
            model, cnn, machine, job, n_nodes=NODES, subbatch_size=SUBBATCHES, minibatch=(16.0, 64.0)
        ),
    }
    for label, function in cases.items():
        cpu, wall = least(function)
        print(f"{label}, {len(configs):,} configurations: {cpu:.3f} s CPU, {wall:.3f} s wall")
    for label, options in WINDOWS.items():
        cpu, wall = least(partial(search_million, model, options), runs=1)
        print(f"whole search, window of the {label}, {len(MANY) ** 2:,} configurations: {cpu:.1f} s CPU, {wall:.1f} s wall")


def search_million(model: Any, options: dict[str, float]) -> object:
    """A thousand node counts and a thousand sub-batches."""
    machine, job = load_machine("cpu-cluster"), JobSpec(dataset_size=60_000)
    sizes = {"n_nodes": MANY, "subbatch_size": MANY}
    return search_runs(model, load_cnn("resnet18"), machine, job, **sizes, minibatch=(16.0, 64.0), ignore_memory=True, **options)


if __name__ == "__main__":
    main()
