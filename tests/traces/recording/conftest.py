"""The recorder built once, programs compiled, and one recorded run of each."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.rank_file import read_rank_file
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.recording.build import build_recorder, compiler
from mlperf.traces.recording.rank_writer import RankWriter
from mlperf.traces.recording.recorded import Recorded
from mlperf.traces.recording.run import RecordRequest, record

PROGRAMS = Path(__file__).parent / "programs"
MPIEXEC = str(Path(compiler()[0]).with_name("mpiexec"))
N_RANKS = 4


def line_of(program: str, words: str) -> int:
    """Number of the only line of a program that holds some words."""
    lines = (PROGRAMS / program).read_text(encoding="utf-8").splitlines()
    (found,) = [number for number, line in enumerate(lines, start=1) if words in line]
    return found


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_recorder(tmp_path_factory.mktemp("recorder"))


@pytest.fixture(scope="session")
def talk(library: Path) -> Path:
    target = library.parent / "talk"
    subprocess.run([*compiler(), "-g", f"-I{library.parent}", str(PROGRAMS / "talk.c"), "-o", str(target)], check=True)
    return target


@pytest.fixture
def recorded(library: Path, talk: Path, tmp_path: Path) -> Callable[..., tuple[Recorded, Path]]:
    """Record talk.c with words for it and options of the request."""

    def run(*words: str, **options: object) -> tuple[Recorded, Path]:
        command = (MPIEXEC, "-n", str(N_RANKS), str(talk), *words)
        out = tmp_path / "run"
        found = record(RecordRequest(command, out, recorder=library, **options), stdout=subprocess.DEVNULL)  # type: ignore[arg-type]
        return found, out

    return run


@pytest.fixture(scope="session")
def talked(library: Path, talk: Path, tmp_path_factory: pytest.TempPathFactory) -> EventTable:
    """What the C program said, matched."""
    out = tmp_path_factory.mktemp("talked") / "run"
    record(RecordRequest((MPIEXEC, "-n", str(N_RANKS), str(talk)), out, recorder=library))
    return read_trace(out)


def proxied(out: Path, *words: str, program: str = "talk.py") -> Recorded:
    """What a Python program says, into a folder."""
    command = (MPIEXEC, "-n", str(N_RANKS), sys.executable, str(PROGRAMS / program), *words)
    return record(RecordRequest(command, out, proxy=True), stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def proxy_talked(tmp_path_factory: pytest.TempPathFactory) -> EventTable:
    """What the Python program said, matched."""
    out = tmp_path_factory.mktemp("proxied") / "run"
    assert proxied(out).command_exit_code == 0
    return read_trace(out)


class Status:
    """Rank 1 of the communicator sent 24 bytes with tag 3."""

    Get_source = staticmethod(lambda: 1)
    Get_tag = staticmethod(lambda: 3)
    Get_count = staticmethod(lambda _kind: 24)
    Is_cancelled = staticmethod(lambda: False)


CONSTANTS = {"ANY_SOURCE": -2, "ANY_TAG": -1, "PROC_NULL": -3, "ROOT": -4, "SUM": "sum", "COMM_NULL": None, "pickle": pickle}
"""What the proxy asks of mpi4py, by other values than any rank's."""


class Own:
    """A recorder without MPI."""

    def __init__(self, folder: Path) -> None:
        self.writer, self.records, self.numbers = RankWriter(folder, 0, 8), True, 0
        self.mpi = type("Mpi", (), {"BYTE": 1, "Status": Status, **CONSTANTS})
        self.probe, self.n_comms = None, 0

    def new_comm(self, _comm: object) -> tuple[int, list[int]]:
        self.writer.members(self.n_comms, range(8))
        self.n_comms += 1
        return self.n_comms - 1, list(range(8))

    def number(self) -> int:
        self.numbers += 1
        return self.numbers


class Plain:
    """A communicator that does nothing, has every method, and keeps what was called."""

    def __init__(self, rank: int = 0, **answers: object) -> None:
        self.rank, self.answers, self.called = rank, {"Get_rank": rank, "Is_inter": False, **answers}, []

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            self.called.append((name, args, kwargs))
            return self.answers.get(name)

        return call


def events_in(own: Own, folder: Path) -> np.ndarray:
    """What a recorder without MPI has written."""
    own.writer.close(0)
    return read_rank_file(folder / "rank-00000.mlr").events
