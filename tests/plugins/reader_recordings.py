"""Folders of a reader who records whole runs: programs to record, recordings of them, tables of links and of bytes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from figure_8 import FIGURE_8, TOPOLOGY

from mlperf.traces.whole_run.request import RunRequest
from mlperf.traces.whole_run.run import record_run

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALLER = {"steps": (60, 10), "batch": (256, 32), "hidden": (384, 32)}
"""Defaults of the example, and those that record the same in a fraction of the time."""

TRAIN = """
import time
try:
    from mlperf.traces.recording import region
except ImportError:
    raise SystemExit("the recorder puts its package on the path")
for number in range(14):
    with region("step"):
        with region("load"):
            time.sleep(0.03)
        with region("train_batch", 1 << 20):
            sum(range(200_000))
print("trained 100 samples/s")
"""
QUICK = "print('100 samples/s')\n"
AT_ONCE = "#!/bin/sh\necho 100 samples/s\n"
STEADY = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end:\n    sum(range(10_000))\n    time.sleep(0.01)\n"
OWN = '[[swarm]]\nname = "input"\nwords = ["load", "decode"]\n'


def programs(folder: Path) -> None:
    """A program of a few steps under the names that examples give it, and the examples of the repository."""
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    for name, code in (("old", AT_ONCE), ("new", AT_ONCE), ("program", f"#!{sys.executable} -S\n{STEADY}")):
        (folder / name).write_text(code, encoding="utf-8")
        (folder / name).chmod(0o755)
    for name in ("old.py", "new.py", "a.py", "b.py"):
        (folder / name).write_text(QUICK, encoding="utf-8")
    shutil.copytree(EXAMPLES / "whole_run", folder / "examples" / "whole_run")
    shorten(folder / "examples" / "whole_run" / "train.py")


def shorten(path: Path) -> None:
    """Fewer and smaller steps of the example than a reader waits for."""
    code = path.read_text(encoding="utf-8")
    for name, (usual, smaller) in SMALLER.items():
        option = f'"--{name}", type=int, default='
        assert f"{option}{usual})" in code
        code = code.replace(f"{option}{usual})", f"{option}{smaller})")
    path.write_text(code, encoding="utf-8")


def recordings(folder: Path) -> None:
    """A recorded run under the names that examples give it, and what can be asked beside one."""
    programs(folder)
    record_run(RunRequest((sys.executable, str(folder / "train.py")), folder / "run"))
    for name in ("before", "after", "run-1", "run-2", "run-4", "run-synthetic", "memory", "real", "synthetic", "runs/a", "runs/b"):
        shutil.copytree(folder / "run", folder / name)
    (folder / "runs.csv").write_text("run,network,batch,workers\na,u,8,1\nb,u,16,2\n", encoding="utf-8")
    (folder / "traffic.txt").write_text(FIGURE_8, encoding="utf-8")
    (folder / "topology.txt").write_text(TOPOLOGY, encoding="utf-8")
    (folder / "own.toml").write_text(OWN, encoding="utf-8")
    shutil.copy(EXAMPLES / "whole_run" / "machine.csv", folder / "links.csv")


def times_of_two_runs(folder: Path) -> None:
    """Tables of measured times, and two recordings."""
    recordings(folder)
    shutil.copy(folder / "old", folder / "program")
    for name, factor in (("before", 1.0), ("after", 0.8)):
        rows = [{"step_s": factor * (0.1 + 0.001 * (number % 7))} for number in range(60)]
        (folder / f"{name}.json").write_text(str(rows).replace("'", '"'), encoding="utf-8")
