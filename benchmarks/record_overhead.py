"""What recording costs: steps of a training program with and without ``mlperf record``, in turns.

Runs ``mlperf compare-runs`` on both commands with the program's own step time as the metric, blocks ABBA or BAAB by a coin, and
prints the ratio with its interval (bar 5 %, goal 2 %). Default sources.

    python benchmarks/record_overhead.py [BLOCKS]
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mlperf.collect.trainer.launch import mpiexec_command

TRAIN = Path(__file__).parents[1] / "examples" / "whole_run" / "train.py"
MLPERF = [sys.executable, "-m", "mlperf"]
RANKS = ["--hidden", "32", "--batch", "64", "--device-ms", "40"]


def programs() -> dict[str, list[str]]:
    """What is recorded."""
    one = [sys.executable, str(TRAIN), "--steps", "60"]
    return {"one process, two threads": one, "four ranks": [*mpiexec_command(None), "-n", "4", *one, *RANKS]}


def ratio(command: list[str], blocks: int, folder: str) -> dict[str, Any]:
    """The comparison's document."""
    recorded = [*MLPERF, "record", "--", *command]
    asked = [
        "compare-runs",
        shlex.join(command),
        shlex.join(recorded),
        "--metric",
        r"steps of ([\d.]+) ms",
        "--blocks",
        str(blocks),
    ]
    # Figures of a browser, a session or a launcher before this one are not the program's.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MLPERF_")}
    done = subprocess.run(
        [*MLPERF, *asked, "--warm-up", "1", "--margin", "0.02", "--json"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        check=False,
    )
    return json.loads(done.stdout)["result"]


def main() -> None:
    """Compare each, and print a row."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    print(f"{'program':28} {'ratio':>7}  95 % interval     {blocks} blocks of four runs")
    for name, command in programs().items():
        with tempfile.TemporaryDirectory(prefix="mlperf-overhead-") as folder:
            found = ratio(command, blocks, folder)
        print(f"{name:28} {found['ratio']:7.4f}  {found['ratio_low']:.4f} to {found['ratio_high']:.4f}", flush=True)


if __name__ == "__main__":
    main()
