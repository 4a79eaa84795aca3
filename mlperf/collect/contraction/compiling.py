"""From C text to assembler text, objects and one program, all with the same options, several compilers at a time."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlperf.collect.contraction.builds import find_program
from mlperf.collect.contraction.sources import kernel_name, kernel_source, table_source
from mlperf.collect.contraction.units import Unit
from mlperf.collect.protocol.protocol import Progress, side_by_side
from mlperf.core.children import ended_with_parent
from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole

DRIVER = Path(__file__).with_name("driver.c")
FILES_AT_ONCE = 24
STAMP = "stamp"


def compile_units(units: Sequence[Unit], n_jobs: int, progress: Progress) -> None:
    """Bring every unit to a program; what is there already stays.

    Raises
    ------
    UsageError
        A compiler refuses an option or the code; shows its first complaint.
    """
    missing = [unit for unit in units if not is_ready(unit)]
    for unit in missing:
        write_sources(unit)
    chunks = [(unit, chunk) for unit in missing for chunk in chunked(unit.patterns)]
    progress.start("compile", len(chunks) + len(missing))
    for _ in side_by_side(compile_chunk, chunks, n_jobs):
        progress.advance()
    for unit in missing:
        link(unit)
        progress.advance()


def is_ready(unit: Unit) -> bool:
    """Whether the unit's program is there and made of the same text by the same compiler."""
    stamp = unit.objects / STAMP
    return unit.program.is_file() and stamp.is_file() and stamp.read_text(encoding="ascii") == digest(unit)


def digest(unit: Unit) -> str:
    """Digest of everything that makes the program."""
    parts = (
        unit.build.compiler_flags,
        unit.loops,
        table_source(unit.patterns, unit.n, unit.offset_bytes),
        DRIVER.read_text(encoding="utf-8"),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def write_sources(unit: Unit) -> None:
    """The C text of every kernel, and of the arrays and the table."""
    unit.sources.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(unit.objects, ignore_errors=True)
    unit.objects.mkdir(parents=True)
    for pattern in unit.patterns:
        path = unit.sources / f"{kernel_name(pattern)}.c"
        text = kernel_source(pattern, unit.loops, unit.n, unit.offset_bytes)
        # A killed run may have left half a text.
        if not path.exists() or path.read_text(encoding="ascii") != text:
            path.write_text(text, encoding="ascii")
    (unit.objects / "table.c").write_text(table_source(unit.patterns, unit.n, unit.offset_bytes), encoding="ascii")


def chunked(patterns: Sequence[str]) -> Iterator[Sequence[str]]:
    """The patterns in portions for one call of the compiler."""
    for first in range(0, len(patterns), FILES_AT_ONCE):
        yield patterns[first : first + FILES_AT_ONCE]


def compile_chunk(unit: Unit, patterns: Sequence[str]) -> None:
    """Assembler text of some kernels, and objects from that text."""
    names = [kernel_name(pattern) for pattern in patterns]
    flags = unit.build.flags
    call(unit, [*flags, "-S", *(str(Path("..") / f"{name}.c") for name in names)], unit.assembly)
    call(unit, [*flags, "-c", *(str(Path("..") / f"{name}.s") for name in names)], unit.objects)


def link(unit: Unit) -> None:
    """The driver, the arrays and all kernels as one program; the driver is compiled without the options under test."""
    plain = [*unit.build.machine_flags, "-O2", "-c"]
    call(unit, [*plain, str(DRIVER.resolve()), "-o", "driver.o"], unit.objects)
    call(unit, [*plain, "table.c", "-o", "table.o"], unit.objects)
    objects = [f"{kernel_name(pattern)}.o" for pattern in unit.patterns]
    (unit.objects / "objects.txt").write_text("\n".join(["driver.o", "table.o", *objects]) + "\n", encoding="ascii")
    call(unit, [*unit.build.flags, "@objects.txt", "-o", unit.program.name], unit.objects)
    write_text_whole(unit.objects / STAMP, digest(unit))


def call(unit: Unit, arguments: Sequence[str], folder: Path) -> None:
    """Run the unit's compiler in a folder.

    Raises
    ------
    UsageError
        It failed.
    """
    command = [find_program(unit.build.compiler), *arguments]
    done = subprocess.run(  # noqa: S603 - the user's compiler
        command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=ended_with_parent(signal.SIGTERM)
    )
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
        raise UsageError(
            f"{unit.build.compiler} failed: {complaints[0].strip()}",
            place=f"build {unit.build.name}",
            hint=f"Its options are {' '.join(unit.build.flags) or 'none'}.",
        )


def remove_programs(units: Sequence[Unit]) -> None:
    """Delete objects and programs; C and assembler text stay."""
    for unit in units:
        shutil.rmtree(unit.objects, ignore_errors=True)
