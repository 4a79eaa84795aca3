"""CPU time of the blocks after a selection at 443 x 30: selective tests, 1,000 bootstrap selections, nested 10-fold.

python benchmarks/after_selection.py

The gates are absolute and hold for one thread of a quiet core: 75 ms (goal 10), 200 ms, 10 ms.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mlperf.core.threads import one_blas_thread
from mlperf.models.inference.nested import nested_error
from mlperf.models.inference.selective import selective_inference
from mlperf.models.inference.stability import SelectionProblem, selection_stability
from mlperf.models.selection.spaces import column_groups, default_criterion, select

N_SAMPLES, N_COLUMNS, N_REPEATS = 443, 30, 7


def timing_design(rng: np.random.Generator) -> SelectionProblem:
    """Correlated columns on scales from 0.1 to 1,000, half of them real, R2 about 0.94."""
    factors = rng.standard_normal((N_SAMPLES, 5)) @ (0.6 * rng.standard_normal((5, N_COLUMNS)))
    scale = 10.0 ** rng.uniform(-1.0, 3.0, N_COLUMNS)
    X = (factors + rng.standard_normal((N_SAMPLES, N_COLUMNS)) + rng.uniform(1.0, 5.0, N_COLUMNS)) * scale
    mean = X[:, : N_COLUMNS // 2] @ (rng.uniform(0.5, 2.0, N_COLUMNS // 2) / scale[: N_COLUMNS // 2])
    sigma = mean.std() * np.sqrt(0.06 / 0.94)
    return SelectionProblem(X, 10.0 + mean + sigma * rng.standard_normal(N_SAMPLES), np.arange(N_COLUMNS + 1))


def cpu_s(task: Callable[[], object]) -> float:
    """Smallest CPU time of a few repeats, seconds."""
    times = []
    for _ in range(N_REPEATS):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print one line a block."""
    problem = timing_design(np.random.default_rng(1))
    with one_blas_thread():
        factor = problem.triangle()
        selection = select(factor, problem.assign, default_criterion(factor))
        groups = column_groups(problem.assign)
        reported = selection.refits[-1].model
        tasks: dict[str, tuple[Callable[[], object], float]] = {
            "selective p-values and bounds": (lambda: selective_inference(factor, selection, groups), 0.075),
            "1,000 bootstrap selections": (lambda: selection_stability(problem, reported, 1000), 0.2),
            "nested 10-fold": (lambda: nested_error(problem, reported), 0.01),
        }
        print(f"{N_SAMPLES} x {N_COLUMNS}, {len(selection.path) - 1} drops")
        for name, (task, gate_s) in tasks.items():
            print(f"{name:32s} {1e3 * cpu_s(task):8.2f} ms   gate {1e3 * gate_s:.0f} ms")


if __name__ == "__main__":
    main()
