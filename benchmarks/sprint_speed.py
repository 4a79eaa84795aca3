"""CPU seconds of SPRINT's equations, search and event simulation, and of reading a large campaign, each beside a peer.

Run ``python benchmarks/sprint_speed.py``. Peers: the same equations for one configuration at a time, the same event loop outside
of numba, and pandas reading the same file without any check. Ratios are of one run on one machine.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sprint_grid import times_of

from mlperf.datasets import bundled_path, read_campaign, write_table
from mlperf.planning.search.search_grid import solve_search
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint import simulate
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations

N_NODES, N_SUBBATCHES, N_ALONE = 100, 100, 50
WINDOW = (64, 256)
N_UPDATES, N_INTERPRETED = 23_500, 235
N_ROWS = 130_000


def seconds_of(work: Callable[[], object]) -> float:
    """CPU seconds of the quickest of three."""
    taken = []
    for _ in range(3):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return min(taken)


def configurations() -> tuple[ComponentTimes, RunGrid]:
    """Every pair of 100 node counts and 100 sub-batches; the work grows with the sub-batch."""
    nodes, subbatch = (axis.ravel() for axis in np.meshgrid(np.arange(1, N_NODES + 1), np.arange(1, N_SUBBATCHES + 1)))
    run = RunGrid(nodes, np.full(nodes.size, 8), subbatch, np.full(nodes.size, 1_281_167))
    return times_of("heavy", 0.01 + 0.005 * subbatch, 0.2), run


def equations_beside_one_at_a_time(form: str) -> tuple[float, float]:
    """All configurations at once, and as many alone."""
    times, run = configurations()
    rows = np.linspace(0, len(run.n_nodes) - 1, N_ALONE).astype(int)
    pieces = [(times.take([row]), run.take([row])) for row in rows]
    alone_s = seconds_of(lambda: [solve_iterations(*piece, form) for piece in pieces])
    return seconds_of(lambda: solve_iterations(times, run, form)), alone_s * len(run.n_nodes) / N_ALONE


def search_beside_equations() -> tuple[float, float]:
    """The search of all configurations, and its first pass alone."""
    times, run = configurations()
    return seconds_of(lambda: solve_search(times, run, WINDOW)), seconds_of(lambda: solve_iterations(times, run, "second_moment"))


def simulation_beside_interpreted() -> tuple[float, float]:
    """Updates by 128 GPUs, and as many with the outermost loop left to Python."""
    times = times_of("heavy", np.array([0.05]), 0.2)
    run = RunGrid(np.array([16]), np.array(8), np.array(8), np.array(100_000))
    long, short = (SimulationPlan(n_updates=number, warmup=1) for number in (N_UPDATES, N_INTERPRETED))
    # Compiled before it is timed.
    simulate_iterations(times, run, 0, short)
    compiled_s = seconds_of(lambda: simulate_iterations(times, run, 0, long))
    loop = simulate.events.run_events
    simulate.events.run_events = getattr(loop, "py_func", loop)
    try:
        interpreted_s = seconds_of(lambda: simulate_iterations(times, run, 0, short))
    finally:
        simulate.events.run_events = loop
    return compiled_s, interpreted_s * N_UPDATES / N_INTERPRETED


def campaign_beside_pandas() -> tuple[float, float]:
    """A campaign of 130,000 rows of kernels with every check, and its table read by pandas."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = read_campaign("cpu-epyc")
        copies = -(-N_ROWS // len(whole.kernels))
        frame = pd.concat([whole.kernels] * copies, ignore_index=True).head(N_ROWS)
        write_table(frame.assign(sequence=np.arange(N_ROWS)), folder / "kernels.csv.gz", "kernels")
        (folder / "cnns").symlink_to(bundled_path("cpu-epyc") / "cnns")
        return seconds_of(lambda: read_campaign(folder).kernels), seconds_of(lambda: pd.read_csv(folder / "kernels.csv.gz"))


def main() -> None:
    """Print one line a subject."""
    print(f"{'':44}{'CPU s':>9}{'peer, CPU s':>14}{'peer / own':>12}  peer", flush=True)
    subjects: tuple[tuple[str, str, Callable[[], tuple[float, float]]], ...] = (
        ("10,000 configurations, second_moment", "one at a time", lambda: equations_beside_one_at_a_time("second_moment")),
        ("10,000 configurations, phases", "one at a time", lambda: equations_beside_one_at_a_time("phases")),
        ("search of 10,000 configurations", "second_moment alone", search_beside_equations),
        ("23,500 updates by 128 GPUs, simulated", "outermost loop without numba", simulation_beside_interpreted),
        ("campaign of 130,000 kernels, checked", "pandas.read_csv", campaign_beside_pandas),
    )
    for label, peer, measured in subjects:
        own_s, peer_s = measured()
        print(f"{label:44}{own_s:9.3f}{peer_s:14.3f}{peer_s / own_s:12.1f}  {peer}", flush=True)


if __name__ == "__main__":
    main()
