"""strace 6.1 -f -ttt -T of a Python program with a thread (fixtures/strace.txt), and lines as its page shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.system.strace import read_strace

FIXTURE = Path(__file__).parent / "fixtures" / "strace.txt"


def read(tmp_path: Path, text: str):
    path = tmp_path / "strace.txt"
    path.write_text(text)
    return read_strace(path)


def test_a_real_file() -> None:
    found = read_strace(FIXTURE)
    lines = FIXTURE.read_text().splitlines()
    parts = sum("unfinished" in line for line in lines)
    resumed = sum("resumed" in line for line in lines)
    assert parts > 0
    assert resumed > 0
    # A call in two parts is one row, as the tool means it.
    assert len(found) == len(lines) - resumed + sum("that never began" in note for note in found.notes)
    assert set(found.tid.tolist()) == {14732, 14733}
    assert found.origin_ns // 1_000_000_000 == 1795435042
    assert found.start_ns[0] == 0


def test_calls_in_parts_signals_and_ends(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """5 100.000100 read(3,  <unfinished ...>
6 100.000200 write(4, "a"..., 10) = 7 <0.000050>
5 100.000400 <... read resumed>"x", 4096) = 512 <0.000300>
5 100.000500 openat(AT_FDCWD, "/a = 1 (b)", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000010>
5 100.000600 --- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER} ---
5 100.000650 mmap(NULL, 8192, PROT_READ) = 0x7f10 <0.000001>
[pid     7] 100.000660 getpid() = 7
6 100.000700 futex(0x1, FUTEX_WAIT <unfinished ...>
5 100.000800 exit_group(0) = ?
5 100.000900 +++ exited with 0 +++
""",
    )
    names = found.text(found.name)
    assert names == ["read", "write", "openat", "SIGUSR1", "mmap", "getpid", "futex", "exit_group", "exited with 0"]
    assert found.duration_ns.tolist() == [300_000, 50_000, 10_000, 0, 1_000, 0, 0, 0, 0]
    assert found.size_bytes.tolist() == [512, 7, 0, 0, 0, 0, 0, 0, 0]
    assert found.kind[3] == Kind.MARK
    assert found.flags[6] == Flag.TRUNCATED
    assert found.flags[5] == Flag.ASSUMED_TIME
    assert found.tid.tolist() == [5, 6, 5, 5, 5, 7, 6, 5, 5]
    assert found.notes == ("1 calls did not return before the file ends", "1 calls say no duration (strace -T)")


def test_bytes_that_read_like_a_result_are_none(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """strace: Process 6 attached
5 1.000000 write(1, "x = 5\\n", 6) = 6 <0.000050>
5 2.000000 write(1, "f(a = 3, b) = 77 <0.5> hi", 25) = 25 <0.000060>
5 3.000000 read(3,  <unfinished ...>
5 4.000000 <... read resumed>"y = 1 <0.5>", 4096) = 11 <1.000000>
5 5.000000 ppoll([{fd=3, events=POLLIN}], 1, NULL, NULL, 8)   = 0 (Timeout) <0.000007>
5 6.000000 <... exit resumed>)             = ?
""",
    )
    assert found.size_bytes.tolist() == [6, 25, 11, 0, 0]
    assert found.duration_ns[:4].tolist() == [50_000, 60_000, 1_000_000_000, 7_000]


def test_a_call_that_began_before_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, "5 1.000000 <... poll resumed>) = 0 <0.5>\n")
    assert found.duration_ns.tolist() == [500_000_000]
    assert "never began" in found.notes[0]


@pytest.mark.parametrize("line", ["hello", "5 1.000000 nothing", "99999999999 1.000000 getpid() = 5 <0.1>"])
def test_a_wrong_line_names_its_place(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"strace\.txt, line 2"):
        read(tmp_path, f"5 1.000000 getpid() = 5 <0.000001>\n{line}\n")
