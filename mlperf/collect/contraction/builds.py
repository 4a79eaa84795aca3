"""Compilers with their options: what a user names, what is installed, which version it is."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import MissingExtraError, UsageError

NAMED = re.compile(r"([A-Za-z_][\w.+-]*)=(.+)")
VERSION = re.compile(r"\d+(?:\.\d+)+")
REFUSED = ("-flto", "-c", "-S", "-E", "-o", "-x")
PACKAGES: Mapping[str, str] = {
    "gcc": "gcc (apt-get install gcc)",
    "cc": "gcc (apt-get install gcc)",
    "clang": "clang (apt-get install clang)",
    "tcc": "tcc (apt-get install tcc)",
    "icx": "the Intel oneAPI C++ compiler",
    "icc": "the Intel C++ compiler classic",
    "nvc": "the NVIDIA HPC SDK",
    "valgrind": "valgrind (apt-get install valgrind)",
}
"""Program to the package that brings it."""

SSE3 = "-msse3 " if platform.machine() in ("x86_64", "AMD64", "i686") else ""
DEFAULT_BUILDS = (
    "gcc_O1_scalar=gcc -O1 -fno-tree-vectorize",
    f"gcc_O2_{'sse3' if SSE3 else 'simd'}_fast=gcc -O2 -ftree-vectorize {SSE3}-ffast-math",
)
"""Scalar code, and what is nearest to the paper's ``icc -O2 -xSSE3``: icc reorders sums of floats by default."""


@dataclass(frozen=True, slots=True)
class Build:
    """A compiler with options.

    Attributes
    ----------
    name : str
        Name in tables and folders.
    compiler : str
        Program, as the user wrote it.
    flags : tuple of str
        Options.
    version : str
        ``"12.2.0"``; empty until `find_compilers` has looked.
    """

    name: str
    compiler: str
    flags: tuple[str, ...]
    version: str = ""

    @property
    def compiler_flags(self) -> str:
        """Compiler, version and options as the tables have them: ``"gcc-12.2.0 -O2"``."""
        return " ".join((f"{Path(self.compiler).name}-{self.version}", *self.flags))

    @property
    def machine_flags(self) -> tuple[str, ...]:
        """Options that code linked with the kernels must share."""
        return tuple(flag for flag in self.flags if flag.startswith(("-m", "-target", "--target")))


def parse_build(text: str) -> Build:
    """Read ``"gcc -O2 -msse3"`` or, with a name of one's own, ``"fast=gcc -O2 -msse3"``.

    Raises
    ------
    UsageError
        Nothing but a name, an option that the generator sets itself, or whole-program optimisation.
    """
    named = NAMED.fullmatch(text.strip())
    name, command = (named[1], named[2]) if named else ("", text)
    try:
        compiler, *flags = shlex.split(command)
    except ValueError:
        raise UsageError(f"got build {text!r}, expected a compiler with options", hint='For example "gcc -O2 -msse3".') from None
    if "=" in command.split("-")[0]:
        hint = 'A name has letters, digits and _ . + - alone: "fast=gcc -O2 -msse3".'
        raise UsageError(f"got build {text!r}, expected NAME=COMPILER FLAGS", hint=hint)
    for flag in flags:
        if flag in REFUSED or flag.startswith("-flto"):
            raise UsageError(
                f"got option {flag} in build {text!r}, expected options that change the code of one file",
                hint="Every kernel is compiled by itself, to assembler text, an object and a program with the same options.",
            )
    return Build(name or default_name(compiler, flags), compiler, tuple(flags))


def default_name(compiler: str, flags: Sequence[str]) -> str:
    """A name for tables and folders: ``gcc_O2_msse3``."""
    words = [Path(compiler).name, *(flag.lstrip("-") for flag in flags)]
    return re.sub(r"[^\w.+-]+", "_", "_".join(words))


def find_compilers(builds: Sequence[Build]) -> list[Build]:
    """The builds with the versions of their compilers.

    Raises
    ------
    MissingExtraError
        A compiler is not installed; names its package.
    UsageError
        Two builds of one name, or a program that tells no version.
    """
    names = [build.name for build in builds]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not builds:
        raise UsageError(
            f"got builds called {', '.join(names) or 'nothing'}, expected one or more, each of its own name",
            hint='Name a build so: --build "fast=gcc -O2 -ffast-math".',
        )
    return [Build(build.name, build.compiler, build.flags, _compiler_version(build.compiler)) for build in builds]


def _compiler_version(compiler: str) -> str:
    """Version of an installed compiler; UsageError where it answers ``--version`` with no number."""
    program = find_program(compiler)
    for option in ("-dumpfullversion", "--version"):
        said = subprocess.run([program, option], capture_output=True, text=True, check=False)  # noqa: S603 - the user's compiler
        found = VERSION.search(said.stdout)
        if said.returncode == 0 and found:
            return found[0]
    raise UsageError(f"got {compiler!r}, expected a C compiler: it tells no version")


def find_program(name: str) -> str:
    """Path of an installed program.

    Raises
    ------
    MissingExtraError
        It is not installed; the hint names the package that brings it.
    """
    program = shutil.which(name)
    if program is None:
        known = PACKAGES.get(re.sub(r"-\d+$", "", Path(name).name), f"the package that brings {name}")
        raise MissingExtraError(f"{name} is not installed", place="mlperf collect contraction", hint=f"Install {known}.")
    return program
