"""Names of all sources, for those who need no more: it imports nothing."""

NAMES = (
    *("marks", "perf", "tasks", "python", "machine", "tree", "mpi", "torch"),
    *("nvidia-smi", "nsys", "strace", "packets", "vmstat", "mpstat", "counters"),
)
