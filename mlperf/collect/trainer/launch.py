"""Ranks started and watched: ``mpiexec`` as a child, its end put into words."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlperf.collect.trainer.waits import wake_promptly
from mlperf.core.children import ended_with_parent
from mlperf.core.errors import InterruptedRun, MissingExtraError, MlperfError, UsageError
from mlperf.core.extras import require
from mlperf.core.files import write_text_whole
from mlperf.core.threads import ONE_THREAD

LOG = "mpi.log"
TERM_S = 5.0
JOB, ANSWER = "job.json", "answer.json"
RANK = "mlperf.collect.trainer.rank.rank"
NO_MEMORY = ("MemoryError", "can't allocate memory")
"""What Python and torch say then."""
MOST_RANKS = 64
"""For each core of this machine: more are a slip of the hand, and would take all of its memory."""


def mpiexec_command(given: str | None) -> list[str]:
    """The launcher and its own arguments.

    Parameters
    ----------
    given : str or None
        As on the command line, ``"mpirun --hostfile hosts"``, looked for on the PATH, then beside Python; None looks beside Python
        first.

    Raises
    ------
    UsageError
        No command, or a quotation without its end.
    MissingExtraError
        mpi4py or a launcher is absent; names the extra.
    """
    words = ["mpiexec"] if given is None else launcher_words(given)
    require("mpi4py", "mpi")
    path, beside = os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)
    places = [beside, path] if given is None else [path, beside]
    found = shutil.which(words[0], path=os.pathsep.join(places))
    if found is None:
        raise MissingExtraError(
            f"this needs an MPI launcher, and there is no {words[0]}",
            place="extra 'mpi'",
            hint="python -m pip install 'mlperf-estimator[mpi]' brings one, or name another MPI's with --mpiexec.",
        )
    return [found, *words[1:]]


def launcher_words(given: str) -> list[str]:
    """The words of a launcher's command, at least one."""
    try:
        words = shlex.split(given)
    except ValueError:
        words = []
    if not words:
        raise UsageError(f"got {given!r}, expected a command such as 'mpirun --hostfile hosts'", place="--mpiexec")
    return words


def run_ranks(launcher: list[str], n_nodes: int, folder: Path, module: str = RANK) -> None:
    """Run ``n_nodes`` ranks of ``module`` on the job in ``folder`` and wait for them.

    Raises
    ------
    UsageError
        More than `MOST_RANKS` for each core, with a launcher that was not told where they go; or a rank found no memory.
    InterruptedRun
        A rank was killed or failed, or Ctrl-C; says which rank and why. Records written until then stay in the folder.
    """
    check_ranks(n_nodes, launcher)
    for left in (*folder.glob("rank-*.error"), *folder.glob("rank-*.pid")):  # of an earlier launch in the same folder
        left.unlink()
    command = [*launcher, "-n", str(n_nodes), sys.executable, "-m", module, str(folder)]
    with (folder / LOG).open("wb") as log:
        ranks = subprocess.Popen(  # noqa: S603 - our own module under the launcher that the user named
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
            preexec_fn=ended_with_parent(signal.SIGTERM),
        )
        try:
            code = ranks.wait()
        except KeyboardInterrupt:
            raise InterruptedRun("stopped by Ctrl-C", place=str(folder), hint="The same command continues.") from None
        finally:
            end_group(ranks)
    if code:
        raise failure(folder, n_nodes, code)


def check_ranks(n_ranks: int, launcher: list[str]) -> None:
    """Refuse more ranks than this machine can hold; a launcher with options of its own may know of other machines."""
    n_cores = os.cpu_count() or 1
    if len(launcher) == 1 and n_ranks > MOST_RANKS * n_cores:
        raise UsageError(
            f"got {n_ranks} ranks for the {n_cores} cores of this machine, expected at most {MOST_RANKS} for each",
            hint="--mpiexec 'mpiexec --hostfile FILE' starts them on other machines.",
        )


@contextmanager
def as_rank(folder: Path, *, threads: bool = False) -> Iterator[Any]:
    """The communicator of a rank that `run_ranks` started; where the block fails, say why in a file and end all ranks.

    Parameters
    ----------
    folder : Path
        Of the job.
    threads : bool
        Whether the rank has threads beside the one that exchanges.
    """
    if threads:
        require("mpi4py", "mpi").rc.thread_level = "funneled"
    comm = require("mpi4py.MPI", "mpi").COMM_WORLD
    rank = comm.Get_rank()
    write_text_whole(folder / f"rank-{rank}.pid", str(os.getpid()))
    wake_promptly()
    try:
        yield comm
    except BaseException as error:
        write_text_whole(folder / f"rank-{rank}.error", f"{type(error).__name__}: {error}")
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
        raise


def answer_of_ranks(launcher: list[str], n_ranks: int, module: str, job: Mapping[str, Any]) -> Any:
    """What the first of some ranks of ``module`` writes as `ANSWER` when they have read ``job`` as `JOB`.

    Raises
    ------
    UsageError, InterruptedRun
        As `run_ranks`.
    """
    with tempfile.TemporaryDirectory(prefix="mlperf-ranks-") as name:
        folder = Path(name)
        write_text_whole(folder / JOB, json.dumps(job))
        run_ranks(launcher, n_ranks, folder, module)
        return json.loads((folder / ANSWER).read_text(encoding="utf-8"))


def end_group(ranks: subprocess.Popen[bytes]) -> None:
    """End the launcher where it still runs; it ends its ranks."""
    if ranks.poll() is None:
        os.killpg(ranks.pid, signal.SIGTERM)
        try:
            ranks.wait(TERM_S)
        except subprocess.TimeoutExpired:
            os.killpg(ranks.pid, signal.SIGKILL)
            ranks.wait()


def failure(folder: Path, n_nodes: int, code: int) -> MlperfError:
    """What to raise of ranks that ended before their time: what no memory was found for will not fit the next time either."""
    why, kept = reason(folder, n_nodes, code), f"What was measured is kept; the ranks' own words are in {LOG}."
    if any(words in why for words in NO_MEMORY):
        return UsageError(why, place=str(folder), hint=f"Take fewer samples at a time, a smaller network or fewer ranks. {kept}")
    return InterruptedRun(why, place=str(folder), hint=f"{kept} The same command continues.")


def reason(folder: Path, n_nodes: int, code: int) -> str:
    """Which rank ended the run, and how, as far as can be told."""
    for rank in range(n_nodes):
        error = folder / f"rank-{rank}.error"
        if error.exists():
            return f"rank {rank} of {n_nodes} failed: {error.read_text(encoding='utf-8')}"
    log = (folder / LOG).read_text(encoding="utf-8", errors="replace")
    if any(words in log for words in NO_MEMORY):  # there may be too little even to write the file
        return f"one of {n_nodes} ranks failed: MemoryError (exit code {code})"
    dead = set(re.findall(r"\bPID\s+(\d+)", log))
    for rank in range(n_nodes):
        pid = folder / f"rank-{rank}.pid"
        if pid.exists() and pid.read_text(encoding="utf-8") in dead:
            return f"rank {rank} of {n_nodes} was killed (exit code {code})"
    if not all((folder / f"rank-{rank}.pid").exists() for rank in range(n_nodes)):
        return f"the launcher ended with {code} before all of {n_nodes} ranks had started: {last_line(log)}"
    return f"one of {n_nodes} ranks was killed (exit code {code})"


def last_line(log: str) -> str:
    """The log's last word."""
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "it said nothing")
