"""Made-up jobs whose operations are timed by a plain simulation, and an oracle that replays a table by the rules as written."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

Operation = tuple[int, int, str, int]
"""dp_rank, stage, name, sequence."""
Own = Callable[[Operation], float]

TAIL = (
    "gc",
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    "grads-reduce-scatter",
    "optimizer-clip-main-grad",
    "optimizer",
)
COMMUNICATION = ("send", "recv", "all-reduce", "gather", "scatter", "clip")


def schedule(stage: int, n_stages: int, n_micro: int) -> list[tuple[str, int]]:
    """One forward, one backward: the order of a stage's computations."""
    ahead = min(n_stages - stage - 1, n_micro)
    order = [("forward-compute", k) for k in range(ahead)]
    for k in range(n_micro):
        order += [("forward-compute", ahead + k)] if ahead + k < n_micro else []
        order.append(("backward-compute", k))
    return order


def operations(stage: int, n_stages: int, n_micro: int) -> list[tuple[str, int]]:
    """Every operation of a rank in a step."""
    found = [("params-all-gather", 0), *schedule(stage, n_stages, n_micro)]
    if stage > 0:
        found += [(name, k) for name in ("forward-recv", "backward-send") for k in range(n_micro)]
    if stage < n_stages - 1:
        found += [(name, k) for name in ("forward-send", "backward-recv") for k in range(n_micro)]
    return [*found, *((name, 0) for name in TAIL if name != "embedding-grads-all-reduce" or stage in (0, n_stages - 1))]


def before(stage: int, n_stages: int, n_micro: int, name: str, k: int) -> list[tuple[str, int]]:
    """What an operation of a rank follows, read off the rules one by one."""
    order = schedule(stage, n_stages, n_micro)
    own = operations(stage, n_stages, n_micro)
    found: list[tuple[str, int]] = []
    if name.endswith("compute"):
        at = order.index((name, k))
        found += order[at - 1 : at] if at else [("params-all-gather", 0)]
        found.append((name.replace("compute", "recv"), k))
        if (name, k) == ("forward-compute", 0):
            found.append(("params-all-gather", 0))
    if name.endswith(("send", "recv")):
        compute = name.rpartition("-")[0] + "-compute"
        found += [(name, k - 1)] if k else []
        found.append((compute, k if name.endswith("send") else k - 1))
        ahead = order[: order.index(("backward-compute", 0))]
        if name.startswith("backward") and k == 0 and len(ahead) > 1:
            found.append(ahead[-2])
    if name in TAIL:
        at = [each for each in TAIL if (each, 0) in own].index(name)
        found.append(([each for each in TAIL if (each, 0) in own][at - 1], 0) if at else order[-1])
    if name == "grads-reduce-scatter":
        found.append(("params-all-gather", 0))
    return [one for one in found if one in own]


def members(operation: Operation, n_data: int, n_stages: int) -> list[Operation]:
    """Who takes part in an operation; only itself where nobody else does."""
    d, s, name, k = operation
    if name in ("forward-send", "backward-recv"):
        other = "forward-recv" if name == "forward-send" else "backward-send"
        return [operation, (d, s + 1, other, k)]
    if name in ("forward-recv", "backward-send"):
        return members((d, s - 1, "forward-send" if name == "forward-recv" else "backward-recv", k), n_data, n_stages)
    if name in ("params-all-gather", "grads-reduce-scatter"):
        return [(other, s, name, k) for other in range(n_data)]
    if name == "embedding-grads-all-reduce":
        return [(d, other, name, k) for other in sorted({0, n_stages - 1})]
    if name == "optimizer-clip-main-grad":
        return [(other, stage, name, k) for other in range(n_data) for stage in range(n_stages)]
    return [operation]


def simulate(n_data: int, n_stages: int, n_micro: int, own: Own, gap: Own = lambda _: 0.0) -> dict[Operation, tuple[float, float]]:
    """Start and end of every operation: recursion over what each waits for."""

    @cache
    def start(operation: Operation) -> float:
        d, s, name, k = operation
        return gap(operation) + max((end((d, s, *each)) for each in before(s, n_stages, n_micro, name, k)), default=0.0)

    @cache
    def end(operation: Operation) -> float:
        return own(operation) + max(start(each) for each in members(operation, n_data, n_stages))

    every = [(d, s, *each) for d in range(n_data) for s in range(n_stages) for each in operations(s, n_stages, n_micro)]
    return {operation: (start(operation), end(operation)) for operation in every}


def last_end(times: Mapping[Operation, tuple[float, float]]) -> float:
    return max(end for _, end in times.values())


def write_table(path: Path, steps: Mapping[int, Mapping[Operation, tuple[float, float]]], n_data: int) -> Path:
    """The table of some steps; ranks stand stage by stage."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(["step", "rank", "dp_rank", "stage", "operation", "sequence", "micro_batch", "start_s", "duration_s"])
        for step, times in steps.items():
            for (d, s, name, k), (start, end) in times.items():
                batch = k if name.endswith("compute") else ""
                out.writerow([step, s * n_data + d, d, s, name, k, batch, f"{start * 1e-9:.9f}", f"{(end - start) * 1e-9:.9f}"])
    return path


def typical(steps: Mapping[int, Mapping[Operation, float]]) -> dict[str, float]:
    """Mean or median of each kind over all ranks and steps, from own times."""
    by_name = defaultdict(list)
    for owns in steps.values():
        for operation, value in owns.items():
            by_name[operation[2]].append(value)
    found = {}
    for name, values in by_name.items():
        ordered, middle = sorted(values), len(values) // 2
        median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
        found[name] = median if any(word in name for word in COMMUNICATION) else sum(values) / len(values)
    return found
