"""The PMPI library: C sources that come with the package, compiled by whoever records, with the MPI of the program."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.core.files import write_bytes_whole
from mlperf.core.places import make_folder

SOURCES = Path(__file__).with_name("data")
LIBRARY = "libmlperf_record.so"
HEADER = "mlperf_regions.h"
FLAGS = ("-shared", "-fPIC", "-O2")
LIBRARIES = ("-ldl", "-lpthread")


def compiler(given: str | None = None) -> list[str]:
    """The MPI compiler and its own arguments: as named, else beside Python, else on the PATH.

    Raises
    ------
    MissingExtraError
        There is none.
    """
    words = shlex.split(given) if given else ["mpicc"]
    beside = Path(sys.executable).parent / words[0]
    found = str(beside) if not given and beside.is_file() else shutil.which(words[0])
    if found is None:
        raise MissingExtraError(
            f"this needs an MPI compiler, and there is no {words[0]}",
            place="extra 'mpi'",
            hint="python -m pip install 'mlperf-estimator[mpi]' brings one, or name another MPI's with --mpicc.",
        )
    return [found, *words[1:]]


def build_command(folder: Path, mpicc: str | None = None) -> list[str]:
    """The command that makes the library in a folder."""
    sources = sorted(str(path) for path in SOURCES.glob("*.c"))
    return [*compiler(mpicc), *FLAGS, "-o", str(folder / LIBRARY), *sources, *LIBRARIES]


def build_recorder(folder: Path, mpicc: str | None = None) -> Path:
    """Compile the recorder.

    Parameters
    ----------
    folder : Path
        Gets ``libmlperf_record.so``, and ``mlperf_regions.h`` for programs that mark regions.
    mpicc : str, optional
        Compiler of the program's MPI, with arguments.

    Returns
    -------
    Path
        The library.

    Raises
    ------
    MissingExtraError
        There is no MPI compiler.
    DataError
        It cannot compile the sources; the message ends with its own words.
    """
    make_folder(folder, above=True)
    command = build_command(folder, mpicc)
    made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the compiler that the user named
    if made.returncode:
        said = made.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise DataError(f"the compiler ended with {made.returncode}: {said[0]}", place=command[0], hint=shlex.join(command))
    write_bytes_whole(folder / HEADER, (SOURCES / HEADER).read_bytes())
    return folder / LIBRARY
