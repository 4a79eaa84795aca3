"""The recorder compiled with the MPI of the tests, and its Fortran entry points."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.recording.build import HEADER, LIBRARY, build_command, build_recorder, compiler
from mlperf.traces.recording.run import RecordRequest, record

from .conftest import MPIEXEC, PROGRAMS

pytestmark = pytest.mark.slow

ENTRIES = (
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Send",
    "MPI_Waitsome",
    "MPI_Alltoallv",
    "MPI_Intercomm_create",
    "mlperf_region_begin",
)
FORTRAN = ("mpi_send", "mpi_recv", "mpi_waitall", "mpi_init_thread", "mpi_comm_split", "mpi_pcontrol", "prgn_begin", "prgn_end")


def test_the_library_has_its_entry_points(library: Path) -> None:
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert set(ENTRIES) <= names
    assert {name + end for name in FORTRAN for end in ("", "_")} <= names
    assert library.name == LIBRARY
    assert (library.parent / HEADER).is_file()


def test_calls_as_fortran_compilers_make_them(library: Path, tmp_path: Path) -> None:
    """With a binding that calls the C functions inside: each call is one event, not two."""
    binding, program = tmp_path / "libfortran.so", tmp_path / "program"
    shared = ["-shared", "-fPIC", str(PROGRAMS / "fortran_library.c"), "-o", str(binding)]
    subprocess.run([*compiler(), *shared], check=True)
    # The recorder has the regions' entry points: programs that call them are linked with it.
    libraries = ["-Wl,--no-as-needed", str(library), str(binding), f"-Wl,-rpath,{tmp_path}:{library.parent}"]
    subprocess.run([*compiler(), str(PROGRAMS / "fortran_calls.c"), "-o", str(program), *libraries], check=True)
    found = record(RecordRequest((MPIEXEC, "-n", "2", str(program)), tmp_path / "run", recorder=library))
    assert found.command_exit_code == 0
    table = read_trace(tmp_path / "run")
    kinds = {rank: [Kind(kind) for kind in table.kind[table.rank == rank].tolist()] for rank in (0, 1)}
    assert kinds[0] == [Kind.REGION, Kind.REGION, Kind.SEND, Kind.IRECV, Kind.WAIT, Kind.COLL]
    assert kinds[1] == [Kind.REGION, Kind.REGION, Kind.RECV, Kind.SEND, Kind.COLL]
    messages = np.flatnonzero(table.tag == 5)
    assert set(table.size_bytes[messages].tolist()) == {12}
    assert (table.peer[messages] == 1 - table.rank[messages]).all()
    assert table.text(table.name)[:2] == ["solve", "PRGN"]
    assert len(set(table.comm[np.isin(table.kind, (Kind.SEND, Kind.RECV, Kind.IRECV))].tolist())) == 2


def test_a_compiler_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match="no no-such-mpicc"):
        build_command(tmp_path, "no-such-mpicc")


def test_a_compiler_that_fails(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ended with 1"):
        build_recorder(tmp_path, "false")
