"""Speed of the assembly readers, beside the speed of reading the same file and splitting it into lines.

    python benchmarks/assembly_reader.py            # text made from the test fixtures, and objdump -d of this Python
    python benchmarks/assembly_reader.py FILE...    # any .s file or listing

Goals: 30 MB/s for totals, 10 MB/s with loops.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mlperf.core.provenance import processor_name
from mlperf.features.code import iterate_functions

FIXTURES = Path(__file__).parent.parent / "tests" / "reference" / "assembly"
SIZE = 16_000_000
REPEATS = 3


def many_kernels(pattern: str) -> str:
    """Compiler output of the fixtures again and again, every copy with labels and symbols of its own."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob(pattern)) if not path.name.endswith(".intel.s")]
    copies, size = [], 0
    while size < SIZE:
        for text in texts:
            number = len(copies)
            copies.append(text.replace(".L", f".L{number}_").replace("k_", f"k{number}_").replace("misc_a", f"misc{number}"))
            size += len(copies[-1])
    return "".join(copies)


def own_listing(program: str, *options: str) -> str:
    """Listing of the running Python interpreter: of its library where it is in one."""
    library = Path(sysconfig.get_config_var("LIBDIR") or "") / str(sysconfig.get_config_var("INSTSONAME"))
    code = library if library.suffix != ".a" and library.is_file() else Path(sys.executable).resolve()
    command = [program, "-d", *options, str(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout[: 3 * SIZE]


def cases(folder: Path) -> Iterator[tuple[str, Path]]:
    """What is read, and where it lies."""
    if sys.argv[1:]:
        yield from ((name, Path(name)) for name in sys.argv[1:])
        return
    made = {"x86-64 .s": many_kernels("[gc]*/*.s"), "AArch64 .s": many_kernels("aarch64*/*.s")}
    for program, options in (("objdump", ()), ("llvm-objdump", ("--no-show-raw-insn",))):
        if shutil.which(program):
            made[f"{program} of Python"] = own_listing(program, *options)
        else:
            print(f"{program}: not installed, its listing is left out")
    for number, (name, text) in enumerate(made.items()):
        path = folder / f"{number}.txt"
        path.write_text(text, encoding="utf-8")
        yield name, path


def best_time(action: Callable[[], object]) -> float:
    """Shortest of some times in seconds: what the machine can do when nothing disturbs it."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return min(times)


def read_and_split(path: Path) -> int:
    return len(path.read_text(encoding="utf-8", errors="replace").split("\n"))


def count(path: Path, *, loops: bool) -> int:
    return sum(one.total.n_instructions for one in iterate_functions(path, loops=loops))


def main() -> None:
    print(f"processor: {processor_name()}; best of {REPEATS}; MB/s, and share of reading and splitting the same file")
    print(f"{'text':28}{'MB':>8}{'read+split':>12}{'totals':>10}{'share':>8}{'with loops':>12}{'share':>8}{'instructions':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in cases(Path(folder)):
            size = path.stat().st_size / 1e6
            plain = best_time(lambda path=path: read_and_split(path))
            totals = best_time(lambda path=path: count(path, loops=False))
            loops = best_time(lambda path=path: count(path, loops=True))
            n = count(path, loops=False)
            print(
                f"{name:28}{size:8.1f}{size / plain:12.0f}{size / totals:10.1f}{plain / totals:8.1%}"
                f"{size / loops:12.1f}{plain / loops:8.1%}{n:14,}"
            )


if __name__ == "__main__":
    main()
