"""Makes sprint_random_systems.json: random systems and what an event simulation of Algorithms 1 and 2 says of them.

python tests/reference/sprint_random_systems.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations

N_SYSTEMS, N_SEEDS = 40, 4
PLAN = SimulationPlan(n_updates=2000)
SHARE_OF_WORK = (1.0, 1.0, 1.0, 4.0)


def random_system(rng: np.random.Generator) -> dict[str, float]:
    """Times of one system, seconds: a GPU works for about 1 s, an update takes a quarter of that to twice it.

    Locks are not saturated and no GPU is so regular that its period could lock onto another. In three systems of five holds and the
    update thread's own work vary by up to 40 and 24 %.
    """
    n_gpus, n_nodes = int(rng.choice([1, 2, 3, 4, 8])), int(rng.choice([2, 4, 8, 16, 32]))
    per_gpu = min(1.0, 4.0 / n_gpus)
    hold_s = {
        "fetch_weights": rng.uniform(0.005, 0.06) * per_gpu,
        "update_gradient": rng.uniform(0.005, 0.06),
        "sum_gradient": rng.uniform(0.005, 0.06) * per_gpu,
        "update_weights": rng.uniform(0.01, 0.1),
    }
    ratio = np.exp(rng.uniform(np.log(0.25), np.log(2.0)))
    rest_s = max(ratio - hold_s["update_weights"] - n_gpus * hold_s["sum_gradient"] * min(ratio, 1.0), 0.1)
    work_s = rest_s * rng.dirichlet(SHARE_OF_WORK)
    varied = rng.uniform(0.0, 0.4) if rng.random() < 0.6 else 0.0
    system = {
        "n_nodes": n_nodes,
        "n_gpus_per_node": n_gpus,
        "compute_gradient_s": 1.0 - hold_s["update_gradient"] - 0.5 * hold_s["fetch_weights"],
        "gpu_work_std_s": rng.choice([0.06, 0.1, 0.2]),
        **dict(zip(("update_old_weights_s", "add_momentum_s", "update_momentum_s", "allreduce_s"), work_s, strict=True)),
        "update_work_std_s": 0.6 * varied * work_s[:3].sum(),
        **{f"{name}_s": seconds for name, seconds in hold_s.items()},
        **{f"{name}_std_s": varied * seconds for name, seconds in hold_s.items()},
    }
    return {name: round(float(value), 6) if name.endswith("_s") else value for name, value in system.items()}


def simulated(system: dict[str, float]) -> dict[str, float]:
    """Mean over seeds and its standard error: barrier and T_Update, seconds."""
    seconds = {name: np.array([value]) for name, value in system.items() if name.endswith("_s")}
    nothing = dict.fromkeys(("load_image_s", "deform_image_s", "compute_update_value_s"), np.zeros(1))
    run = RunGrid(np.array([system["n_nodes"]]), np.array([system["n_gpus_per_node"]]), np.ones(1, int), np.array([100_000]))
    runs = [simulate_iterations(ComponentTimes(**seconds, **nothing), run, seed, PLAN) for seed in range(N_SEEDS)]
    found = {}
    for name in ("barrier_wait_s", "update_iteration_s"):
        values = np.array([getattr(each, name) for each in runs])
        found[name] = round(float(values.mean()), 7)
        found[f"{name.removesuffix('_s')}_std_err_s"] = round(float(values.std(ddof=1) / np.sqrt(N_SEEDS)), 7)
    return found


def main() -> None:
    """Write the file beside this script."""
    rng = np.random.default_rng(11)
    systems = [random_system(rng) for _ in range(N_SYSTEMS)]
    cases = [{"times": system, "simulated": simulated(system)} for system in systems]
    Path(__file__).with_suffix(".json").write_text(json.dumps(cases, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
