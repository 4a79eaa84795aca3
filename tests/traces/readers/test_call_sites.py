"""Addresses as places in a program, beside what the debugger's own tool says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mlperf.traces.readers.call_sites import call_sites

PROGRAM = """int inner(int x) {
    return x * 2;
}

int main(void) {
    return inner(3);
}
"""


@pytest.mark.parametrize("options", [("-g",), ("-g", "-no-pie", "-fno-pie"), ()])
def test_function_and_line_of_a_call(options: tuple[str, ...], tmp_path: Path) -> None:
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["cc", *options, "-O0", str(source), "-o", str(program)], check=True)
    listed = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    start = next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(" T inner"))
    # One past the first instruction, as an address to return to is past its call.
    where = start + 1
    text = f"{program}\t{where if '-no-pie' not in options else 0:x}\t{where if '-no-pie' in options else 7:x}\t"
    assert call_sites({99: (False, text)}) == {99: "program.c:1 inner" if options else "inner"}


def test_what_cannot_be_looked_up_keeps_symbol_and_offset() -> None:
    sites = {1: (True, "ring.py:3 main"), 2: (False, "/absent/libx.so\t1f\t7f1f\tsolve"), 3: (False, "broken")}
    assert call_sites(sites) == {1: "ring.py:3 main", 2: "solve+0x1f (libx.so)", 3: "?+0x (broken)"}
