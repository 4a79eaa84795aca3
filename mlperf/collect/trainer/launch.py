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
LAST_LINES = 8
JOB, ANSWER = "job.json", "answer.json"
RANK = "mlperf.collect.trainer.rank.rank"
NO_MEMORY = ("MemoryError", "can't allocate memory")
"""What Python and torch say then."""
STOPPED = "stopped by Ctrl-C"
NOT_STARTED = "the launcher ended with"
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
        More than `MOST_RANKS` for each core, with a launcher that was not told where they go; one that starts none; or a rank found
        no memory.
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
            raise InterruptedRun(STOPPED, place=str(folder), hint="The same command continues.") from None
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
    with saying_why(folder, comm):
        wake_promptly()
        yield comm


@contextmanager
def saying_why(folder: Path, comm: Any) -> Iterator[None]:
    """Let `run_ranks` know that this rank has started, and where the block fails, why; then end all ranks.

    A rank on a machine that does not have the folder says why on its standard error alone.
    """
    rank, is_here = comm.Get_rank(), folder.is_dir()
    if is_here:
        write_text_whole(folder / f"rank-{rank}.pid", str(os.getpid()))
    try:
        yield
    except BaseException as error:
        if is_here:
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
        As `run_ranks`, with the ranks' own words: the folder is gone then.
    """
    with tempfile.TemporaryDirectory(prefix="mlperf-ranks-") as name:
        folder = Path(name)
        write_text_whole(folder / JOB, json.dumps(job))
        try:
            run_ranks(launcher, n_ranks, folder, module)
        except MlperfError as error:
            hint = "Nothing of this launch is kept." if error.message == STOPPED else last_words(folder)
            raise type(error)(error.message, hint=hint) from None
        return json.loads((folder / ANSWER).read_text(encoding="utf-8"))


def job_of_ranks(folder: Path, comm: Any) -> Any:
    """What `answer_of_ranks` wrote for its ranks; only the first of them needs to have the folder."""
    return comm.bcast(json.loads((folder / JOB).read_text(encoding="utf-8")) if comm.Get_rank() == 0 else None, root=0)


def last_words(folder: Path) -> str:
    """What a launch said last that leaves nothing behind."""
    log = folder / LOG
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LAST_LINES:] if log.exists() else []
    return "\n".join(("Nothing of this launch is kept.", *(("The ranks' own words:", *said) if said else ())))


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
    """What to raise of ranks that ended before their time; some will do so the next time, too."""
    why, kept = reason(folder, n_nodes, code), f"What was measured is kept; the ranks' own words are in {LOG}."
    if any(words in why for words in NO_MEMORY):
        return UsageError(why, place=str(folder), hint=f"Take fewer samples at a time, a smaller network or fewer ranks. {kept}")
    if why.startswith(NOT_STARTED):
        return UsageError(why, place=str(folder), hint=f"See that --mpiexec names a launcher that can start them here. {kept}")
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
        return f"{NOT_STARTED} {code} before all of {n_nodes} ranks had started: {telling_line(log)}"
    return f"one of {n_nodes} ranks was killed (exit code {code})"


def telling_line(log: str) -> str:
    """The line of a log that tells most: what went wrong first, before all that followed from it; of a traceback the last."""
    lines = [line.strip() for line in log.splitlines() if any(letter.isalpha() for letter in line)]
    if not lines:
        return "it said nothing"
    return lines[-1] if any(line.startswith("Traceback") for line in lines) else lines[0]
