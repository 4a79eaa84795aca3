"""Figure 8 of the SOFA paper, both matrices: traffic of eight GPUs in a ring that crosses the host twice."""

from __future__ import annotations

NAMES = ("HOST", *(f"GPU{number}" for number in range(1, 9)))
MEGABYTES = {
    ("HOST", "GPU1"): 18473,
    ("HOST", "GPU5"): 19001,
    ("HOST", "GPU6"): 527,
    ("HOST", "GPU8"): 527,
    ("GPU1", "HOST"): 1583,
    ("GPU1", "GPU2"): 19001,
    ("GPU1", "GPU3"): 527,
    ("GPU1", "GPU4"): 527,
    ("GPU1", "GPU7"): 527,
    ("GPU2", "GPU3"): 18473,
    ("GPU3", "GPU4"): 18473,
    ("GPU4", "HOST"): 18473,
    ("GPU5", "GPU6"): 18473,
    ("GPU6", "GPU7"): 18473,
    ("GPU7", "GPU8"): 18473,
    ("GPU8", "HOST"): 18473,
}
SECONDS = {
    ("HOST", "GPU1"): 1.74,
    ("HOST", "GPU5"): 1.79,
    ("HOST", "GPU6"): 0.05,
    ("HOST", "GPU8"): 0.05,
    ("GPU1", "HOST"): 0.15,
    ("GPU1", "GPU2"): 1.03,
    ("GPU1", "GPU3"): 0.03,
    ("GPU1", "GPU4"): 0.03,
    ("GPU1", "GPU7"): 0.03,
    ("GPU2", "GPU3"): 1.00,
    ("GPU3", "GPU4"): 1.00,
    ("GPU4", "HOST"): 1.69,
    ("GPU5", "GPU6"): 1.00,
    ("GPU6", "GPU7"): 1.00,
    ("GPU7", "GPU8"): 1.00,
    ("GPU8", "HOST"): 1.69,
}


def _table(cells: dict[tuple[str, str], float], form: str) -> str:
    rows = ["\t".join(("", *NAMES))]
    rows += ["\t".join((one, *(format(cells.get((one, other), 0), form) for other in NAMES))) for one in NAMES]
    return "\n".join(rows)


FIGURE_8 = f"Traffic Matrix (MB):\t\t\n{_table(MEGABYTES, 'd')}\nTraffic Time Matrix (s):\t\n{_table(SECONDS, '.2f')}\n"
"""The text of the figure."""


def _nvlink(one: int, other: int) -> bool:
    return one // 4 == other // 4 or abs(one - other) == 4


TOPOLOGY = "\n".join(
    [
        "\t" + "\t".join(f"GPU{number}" for number in range(8)) + "\tCPU Affinity",
        *(
            f"GPU{one}\t"
            + "\t".join(" X " if one == other else "NV1" if _nvlink(one, other) else "SYS" for other in range(8))
            + f"\t{'0-19' if one < 4 else '20-39'}"
            for one in range(8)
        ),
        "",
        "Legend:",
        "  X    = Self",
        "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes",
    ]
)
"""``nvidia-smi topo -m`` of the paper's machine: NVLink inside 1-4 and 5-8 and between 1-5, 2-6, 3-7, 4-8."""
