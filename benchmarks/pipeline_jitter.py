"""The numbers of `mlperf.systems.coupling.pipeline_jitter`, fitted to drawn schedules, and how far they are off.

Stages 2 to 32, micro-batches 2 to 128, forward 1, backward 2, standard deviations of 2 % of each; GPipe and 1F1B pass by pass.

    python benchmarks/pipeline_jitter.py [--seed 1]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import least_squares

from mlperf.systems.coupling.barrier import largest_normal
from mlperf.systems.coupling.pipeline import pipeline_makespan
from mlperf.systems.coupling.pipeline_jitter import jitter_excess_s

STAGES, MICRO_BATCHES, VARIATION = (2, 3, 4, 6, 8, 12, 16, 24, 32), (2, 4, 8, 16, 32, 64, 128), 0.02
MOST_DRAWS = 1500


def drawn_excess(schedule: str, seed: int) -> np.ndarray:
    """Rows of stages, micro-batches, excess over the makespan of the means in standard deviations of a forward pass."""
    rng = np.random.default_rng(seed)
    rows = []
    for stages in STAGES:
        for micro in MICRO_BATCHES:
            n_draws = int(np.clip(200_000 / (stages * micro), 60, MOST_DRAWS))
            forward, backward = VARIATION * rng.standard_normal((2, stages, micro, n_draws))
            mean_s = pipeline_makespan(1.0 + forward, 2.0 + 2.0 * backward, micro, schedule).mean()
            rows.append((stages, micro, (mean_s - 3.0 * (micro + stages - 1)) / VARIATION))
    return np.array(rows)


def in_step(numbers: np.ndarray, s: np.ndarray, m: np.ndarray) -> np.ndarray:
    """1F1B: sqrt(5) is the standard deviation of both passes."""
    rate, per_doubling, delay, delay_per_doubling = numbers
    waits = np.maximum(m - delay - delay_per_doubling * np.log2(s), 0.0)
    return np.sqrt(5.0) * largest_normal(s) * (rate - per_doubling * np.log2(s)) * waits


def shop(numbers: np.ndarray, s: np.ndarray, m: np.ndarray) -> np.ndarray:
    """GPipe: 3 is the sum of both standard deviations."""
    edges = 1.0 - numbers[1] / np.sqrt(np.minimum(s, m)) - numbers[1] / np.sqrt(np.maximum(s, m))
    return 3.0 * numbers[0] * np.sqrt((s - 1.0) * (m - 1.0)) * edges


def main() -> None:
    """Print the fitted numbers, and the errors of those in use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    for place, (schedule, form, start) in enumerate((("gpipe", shop, (2.0, 0.5)), ("1f1b", in_step, (1.1, 0.1, 1.0, 1.0)))):
        s, m, excess = drawn_excess(schedule, seed).T
        step = 3.0 * (m + s - 1.0)
        fit = least_squares(
            lambda numbers, form=form, s=s, m=m, excess=excess, step=step: (form(numbers, s, m) - excess) / step, start
        )
        off = np.abs(jitter_excess_s(1.0, 2.0, s, m, place) - excess) / step
        print(
            f"{schedule}: fitted {np.round(fit.x, 3)}; in use off by at most {off.max():.3f} of a step x coefficient of variation"
        )
        print(f"  left out it would be {(excess / step).max():.3f}")


if __name__ == "__main__":
    main()
