"""One unit of a campaign: the kernels of one build at one size and alignment, linked into one program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mlperf.collect.contraction.builds import Build


@dataclass(frozen=True, slots=True)
class Unit:
    """Kernels that share a program.

    Attributes
    ----------
    folder : Path
        The campaign's folder.
    build : Build
        Compiler with options.
    n, offset_bytes : int
        Extent, and distance of the arrays from a 64-byte boundary.
    loops : str
        Loop indices, outermost first.
    patterns : tuple of str
        Kernels; their position is their number in the program.
    """

    folder: Path
    build: Build
    n: int
    offset_bytes: int
    loops: str
    patterns: tuple[str, ...]

    @property
    def sources(self) -> Path:
        """Folder of the C text: ``N100``, or ``N100_offset16``."""
        return self.folder / (f"N{self.n}_offset{self.offset_bytes}" if self.offset_bytes else f"N{self.n}")

    @property
    def assembly(self) -> Path:
        """Folder of the assembler text."""
        return self.sources / self.build.name

    @property
    def objects(self) -> Path:
        """Folder of objects and the program."""
        return self.assembly / "objects"

    @property
    def program(self) -> Path:
        """The program that runs the kernels."""
        return self.objects / "program"

    @property
    def label(self) -> str:
        """Name of the unit for people: ``gcc_O2_sse3_fast at N = 100``."""
        shift = f", offset {self.offset_bytes}" if self.offset_bytes else ""
        return f"{self.build.name} at N = {self.n}{shift}"

    def key(self, pattern: str) -> tuple[str, str, str, str]:
        """Key cells of one kernel, as text."""
        return self.build.name, str(self.n), str(self.offset_bytes), pattern
