"""Makes sprint_monte_carlo.json: direct sampling of the quantities that SPRINT's closed forms give. Uses numpy only.

python tests/reference/sprint_monte_carlo.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

N_BATCHES = 50


def mean_and_error(batches: np.ndarray) -> dict[str, float]:
    """Mean over batches and its standard error."""
    return {"mean": float(batches.mean()), "std_err": float(batches.std(ddof=1) / np.sqrt(batches.size))}


def barrier_excess(rng: np.random.Generator) -> list[dict[str, float]]:
    """E(max - mean) of binomial and beta-binomial counts over nodes."""
    rows = []
    for n, p, nodes, spread in (
        (8, 0.3, 8, 1.0), (8, 0.676, 8, 1.0), (3, 0.52, 16, 1.0), (8, 0.05, 64, 1.0), (8, 0.95, 64, 1.0), (1, 0.3, 16, 1.0),
        (8, 0.34, 8, 1.62), (8, 0.7, 32, 2.5), (3, 0.52, 16, 1.2), (2, 0.1, 4, 1.5),
    ):  # fmt: skip
        means = []
        for _ in range(N_BATCHES):
            chance = np.full((4000, nodes), p)
            if spread > 1.0:
                strength = (n - 1) / (spread - 1.0) - 1.0
                chance = rng.beta(p * strength, (1.0 - p) * strength, (4000, nodes))
            counts = rng.binomial(n, chance)
            means.append((counts.max(axis=1) - counts.mean(axis=1)).mean())
        rows.append({"n": n, "p": p, "nodes": nodes, "spread": spread, **mean_and_error(np.array(means))})
    return rows


def barrier_wait(rng: np.random.Generator) -> list[dict[str, float]]:
    """E(max - mean) over nodes of S0 X + sum of n lock waits."""
    rows = []
    for n, p, nodes, spread, sum_s, deposit_s, gpu_s in (
        (8, 0.34, 8, 1.62, 0.0248, 0.03, 0.71), (3, 0.54, 16, 1.17, 0.0212, 0.03, 0.49), (8, 1.0, 64, 1.5, 0.0246, 0.02, 0.12),
        (1, 0.3, 64, 1.0, 0.005, 0.002, 0.05), (4, 0.8, 4, 1.3, 0.0, 0.02, 0.3),
    ):  # fmt: skip
        means = []
        strength = (n - 1) / (spread - 1.0) - 1.0 if spread > 1.0 else None
        for _ in range(N_BATCHES):
            chance = np.full((3000, nodes), p)
            if strength is not None and p < 1.0:
                chance = rng.beta(p * strength, (1.0 - p) * strength, (3000, nodes))
            busy = rng.random((3000, nodes, n)) < deposit_s / gpu_s
            waits = np.where(busy, rng.uniform(0.0, deposit_s, busy.shape), 0.0).sum(axis=2)
            spent = sum_s * rng.binomial(n, chance) + waits
            means.append((spent.max(axis=1) - spent.mean(axis=1)).mean())
        rows.append(
            {"n": n, "p": p, "nodes": nodes, "spread": spread, "sum_s": sum_s, "deposit_s": deposit_s, "gpu_s": gpu_s}
            | mean_and_error(np.array(means))
        )
    return rows


def shorter_period(rng: np.random.Generator) -> list[dict[str, float]]:
    """E min(max(Z, 0), U) of a normal Z."""
    rows = []
    for gpu_s, std_s, update_s in ((1.0, 0.2, 1.1), (1.0, 0.2, 0.9), (0.4, 0.08, 0.2), (0.4, 0.02, 0.41), (1.0, 0.6, 0.7)):
        draws = np.maximum(rng.normal(gpu_s, std_s, (N_BATCHES, 20000)), 0.0)
        means = np.minimum(draws, update_s).mean(axis=1)
        rows.append({"gpu_s": gpu_s, "std_s": std_s, "update_s": update_s, **mean_and_error(means)})
    return rows


def gradients_per_update(rng: np.random.Generator) -> list[dict[str, object]]:
    """Events of a renewal process with normal gaps in windows at random places."""
    rows = []
    for gpu_s, std_s, update_s in ((0.4, 0.08, 0.9), (0.71, 0.12, 0.25), (0.3, 0.03, 0.31)):
        tails = []
        for _ in range(N_BATCHES):
            times = np.cumsum(np.maximum(rng.normal(gpu_s, std_s, 40000), 1e-9))
            starts = rng.uniform(50 * gpu_s, times[-1] - 50 * gpu_s, 20000)
            counts = np.searchsorted(times, starts + update_s) - np.searchsorted(times, starts)
            tails.append([(counts >= j).mean() for j in (1, 2, 3, 4)])
        tails_array = np.array(tails)
        errors = tails_array.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
        rows.append(
            {
                "gpu_s": gpu_s,
                "std_s": std_s,
                "update_s": update_s,
                "tail": tails_array.mean(axis=0).tolist(),
                "std_err": errors.tolist(),
            }
        )
    return rows


def staleness(rng: np.random.Generator) -> list[dict[str, object]]:
    """Versions published between a GPU's request for weights and the reading of its gradient."""
    names = ("n", "gpu_s", "update_s", "std_s", "deposit_s", "sum_s", "overwrite_s", "p", "lock_weights_s", "lock_gradient_s")
    values = (
        (8, 0.711, 0.245, 0.134, 0.03, 0.0248, 0.013, 0.344, 0.001, 0.005),
        (3, 0.2366, 0.3342, 0.04, 0.03, 0.0212, 0.013, 1.0, 0.0006, 0.0057),
        (1, 0.5, 0.3, 0.0, 0.02, 0.02, 0.1, 0.6, 0.0, 0.0),
        (2, 2.0, 0.2, 0.4, 0.02, 0.02, 0.02, 0.1, 0.0, 0.001),
    )
    rows = []
    cases = [dict(zip(names, row, strict=True)) for row in values]
    for case in cases:
        n, update_s = case["n"], case["update_s"]
        shares, means = [], []
        for _ in range(N_BATCHES):
            phase = rng.uniform(0.0, update_s, 20000)
            thread = rng.integers(0, n, phase.size)
            read_s = case["sum_s"] * case["p"] * thread + case["lock_gradient_s"] * (thread + 0.5) / n
            delay_s = case["gpu_s"] - case["lock_weights_s"] - case["deposit_s"] + case["std_s"] * rng.standard_normal(phase.size)
            # The weights of version v + 1 are written in the last overwrite_s of the period: whoever asks then starts with it.
            waits = phase >= update_s - case["overwrite_s"]
            start_s = np.where(waits, update_s, phase)
            held = waits.astype(int)
            # Applied at the first update whose reading of this buffer comes after the gradient is there.
            window = np.ceil((start_s + delay_s - read_s) / update_s)
            tau = np.where(waits, np.ceil((delay_s - read_s) / update_s), window - held)
            shares.append([(tau <= j).mean() for j in range(14)])
            means.append(tau.mean())
        shares_array = np.array(shares)
        errors = shares_array.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
        sampled = {"cdf": shares_array.mean(axis=0).tolist(), "cdf_std_err": errors.tolist()}
        rows.append(case | sampled | mean_and_error(np.array(means)))
    return rows


def main() -> None:
    """Draw everything from one seed and write the table beside this file."""
    rng = np.random.default_rng(20161)
    tables = {
        "barrier_excess": barrier_excess(rng),
        "barrier_wait": barrier_wait(rng),
        "shorter_period": shorter_period(rng),
        "gradients_per_update": gradients_per_update(rng),
        "staleness": staleness(rng),
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
