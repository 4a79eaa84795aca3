"""Recursive least squares and the whole forecast: microseconds a step, beside statsmodels and scikit-learn, in one run.

python benchmarks/online_forecast.py [STREAM.csv ...]    with streams also the table of scaled errors by horizon

A step of recursive least squares learns one row and predicts the next. Of the peers, scikit-learn's SGDRegressor does the same;
statsmodels' RecursiveLS filters the whole series in compiled code, without predictions in between, and starts anew for a new row.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.linear_model import SGDRegressor
from statsmodels.regression.recursive_ls import RecursiveLS

from mlperf.core.provenance import processor_name
from mlperf.core.threads import one_blas_thread
from mlperf.forecast import online_study
from mlperf.models.online import Forecaster, Recursion, RecursionSettings
from mlperf.models.online.members import CHANGE, Shape

GOAL_US = 35.0
N_ROWS = 1440
REPEATS = 7


def per_step_us(run: Callable[[], object]) -> float:
    """Best CPU time of some repeats, microseconds a row."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1e6 * min(times) / N_ROWS


def ours(rows: np.ndarray, targets: np.ndarray, settings: RecursionSettings) -> None:
    recursion = Recursion(rows.shape[1], settings)
    for row, target in zip(rows, targets, strict=True):
        recursion.predict(row)
        recursion.learn(row, target)


def gradient(rows: np.ndarray, targets: np.ndarray) -> None:
    learner = SGDRegressor(random_state=0)
    for row, target in zip(rows, targets, strict=True):
        learner.partial_fit(row[None], [target])
        learner.predict(row[None])


def whole(levels: np.ndarray, terms: np.ndarray) -> None:
    forecaster = Forecaster(4, Shape(3, terms.shape[1] - 3))
    for level, row in zip(levels.tolist(), terms, strict=True):
        forecaster.step(level, row)


def main(streams: list[Path]) -> None:
    rng = np.random.default_rng(0)
    print(f"{processor_name()}, Python {platform.python_version()}, {N_ROWS} rows, CPU time of one thread, best of {REPEATS}\n")
    print(
        f"{'columns':>7} {'RLS robust':>11} {'RLS exact':>10} {'forecast':>9} {'SGD':>7} {'statsmodels (filter)':>21}   us a step"
    )
    with one_blas_thread():
        for n_columns in (3, 10, 30):
            rows = rng.standard_normal((N_ROWS, n_columns))
            targets = rows @ rng.standard_normal(n_columns) + rng.standard_normal(N_ROWS)
            found = (
                per_step_us(lambda: ours(rows, targets, CHANGE)),  # noqa: B023 - called at once
                per_step_us(lambda: ours(rows, targets, RecursionSettings())),  # noqa: B023
                per_step_us(lambda: whole(np.cumsum(targets) * 0.01, rows)),  # noqa: B023
                per_step_us(lambda: gradient(rows, targets)),  # noqa: B023
                per_step_us(lambda: RecursiveLS(targets, rows).filter(None)),  # noqa: B023
            )
            print("{:7d} {:11.1f} {:10.1f} {:9.1f} {:7.1f} {:21.1f}".format(n_columns, *found), end="   ")
            print(f"RLS {'within' if found[0] <= GOAL_US else 'OVER'} the goal of {GOAL_US:g}")
    if streams:
        print("\nMASE (below 1: better than persistence)")
        print(online_study(streams).to_frame().to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
