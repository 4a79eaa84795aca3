"""Closed forms of SPRINT against the event simulation on 624 configurations.

M in {1, 4, 16, 64} x n in {1, 2, 4, 8} x R = T_GPU/T_Update in {0.1 .. 10} x coefficient of variation in {0.02, 0.2}, with heavy
and with light holds. Prints the errors of T_Update, T_GPU and mean staleness by closed form, and what the phase-locking flag
catches.

    python benchmarks/sprint_grid.py [--updates 600] [--most-iterations 300000] [--csv FILE]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.outputs import epoch_outputs
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations

NODES, GPUS, VARIATIONS = (1, 4, 16, 64), (1, 2, 4, 8), (0.02, 0.2)
RATIOS = (0.1, 0.2, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0, 5.0, 10.0)
# update_gradient, fetch_weights, sum_gradient, update_weights; update work before, in and after the all-reduce; seconds
REGIMES = {
    "heavy": ((0.02, 0.008, 0.0246, 0.013), (0.01, 0.10, 0.01)),
    "light": ((0.002, 0.002, 0.005, 0.003), (0.005, 0.15, 0.005)),
}
FORMS = ("paper", "second_moment", "convolution", "phases")


def times_of(regime: str, work_s: np.ndarray, variation: np.ndarray | float) -> ComponentTimes:
    """Component times of a regime with this GPU work."""
    (deposit_s, fetch_s, sum_s, overwrite_s), (before_s, payload_s, after_s) = REGIMES[regime]
    zero = np.zeros(1)
    return ComponentTimes(
        fetch_weights_s=zero + fetch_s,
        load_image_s=zero,
        deform_image_s=zero,
        compute_gradient_s=work_s,
        compute_update_value_s=zero,
        update_gradient_s=zero + deposit_s,
        sum_gradient_s=zero + sum_s,
        update_old_weights_s=zero + 0.5 * before_s,
        add_momentum_s=zero + 0.5 * before_s,
        allreduce_s=zero + payload_s,
        update_momentum_s=zero + after_s,
        update_weights_s=zero + overwrite_s,
        gpu_work_std_s=variation * work_s,
    )


def grid(regime: str) -> tuple[ComponentTimes, RunGrid, np.ndarray, np.ndarray]:
    """Times, run, wanted ratio and variation of the configurations that the regime can reach."""
    nodes, gpus, wanted, variation = (a.ravel() for a in np.meshgrid(NODES, GPUS, RATIOS, VARIATIONS, indexing="ij"))
    run = RunGrid(nodes, gpus, np.ones(nodes.size, dtype=int), np.full(nodes.size, 100_000))
    low, high = np.full(nodes.size, np.log(1e-5)), np.full(nodes.size, np.log(100.0))
    for _ in range(50):
        middle = 0.5 * (low + high)
        state = solve_iterations(times_of(regime, np.exp(middle), variation), run, "second_moment")
        short = 1.0 / state.ratio < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    rows = np.flatnonzero(low > np.log(1e-3))
    return times_of(regime, np.exp(low), variation).take(rows), run.take(rows), wanted[rows], variation[rows]


def compare(regime: str, n_updates: int, most_iterations: int) -> pd.DataFrame:
    """One row per configuration: simulated values, errors of every form, flag."""
    times, run, wanted, variation = grid(regime)
    closed = {form: solve_iterations(times, run, form) for form in FORMS}
    outputs = {form: epoch_outputs(times, state, run) for form, state in closed.items()}
    rows = []
    for i in range(run.shape[0]):
        per_update = run.n_gpus[i] / wanted[i]
        plan = SimulationPlan(n_updates=int(np.clip(most_iterations / per_update, 80, n_updates)), warmup=60)
        simulated = simulate_iterations(times.take([i]), run.take([i]), seed=i, plan=plan)
        row = {"regime": regime, "nodes": run.n_nodes[i], "gpus": run.n_gpus_per_node[i], "ratio": wanted[i]}
        row |= {
            "variation": variation[i],
            "conservation": simulated.conservation,
            "flag": closed[DEFAULT_FORM].flags["phase_locking_risk"][i],
        }
        for form in FORMS:
            row[f"update {form}"] = closed[form].update_iteration_s[i] / simulated.update_iteration_s - 1.0
            row[f"gpu {form}"] = closed[form].gpu_iteration_s[i] / simulated.gpu_iteration_s - 1.0
            row[f"staleness {form}"] = outputs[form].mean_staleness[i] / simulated.mean_staleness - 1.0
        rows.append(row)
    return pd.DataFrame(rows)


def report(frame: pd.DataFrame) -> None:
    """Mean and maximum error in per cent by regime and variation, and the flag's catch."""
    for quantity in ("update", "gpu", "staleness"):
        columns = [f"{quantity} {form}" for form in FORMS]
        errors = 100.0 * frame[columns].abs()
        print(errors.groupby([frame.regime, frame.variation]).agg(["mean", "max"]).round(2).to_string(), "\n")
    wrong = (frame[f"update {DEFAULT_FORM}"].abs() > 0.04) | (frame[f"staleness {DEFAULT_FORM}"].abs() > 0.08)
    print(f"{len(frame)} configurations, largest |conservation| {frame.conservation.abs().max():.4f}")
    caught, share = (wrong & frame.flag).sum(), frame.flag.mean()
    print(f"off by > 4 % (T_Update) or > 8 % (staleness): {wrong.sum()}, flagged of them {caught}, flagged of all {share:.1%}")
    print(frame[wrong & ~frame.flag].round(3).to_string())


def main() -> None:
    """Run both regimes and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--most-iterations", type=int, default=300_000)
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    begin = time.perf_counter()
    frame = pd.concat([compare(regime, given.updates, given.most_iterations) for regime in REGIMES], ignore_index=True)
    report(frame)
    print(f"{time.perf_counter() - begin:.0f} s")
    if given.csv:
        frame.to_csv(given.csv, index=False)


if __name__ == "__main__":
    main()
