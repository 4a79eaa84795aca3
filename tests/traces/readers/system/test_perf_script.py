"""Text of perf script: as the tool (6.1) printed it for a Python program, and as its pages say it may look."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.system.perf_script import read_perf_script

STACKS = """\
python3  8911/8911  [001] 37597.405942:    5025125 cpu-clock: 
\t          1dc894 PyObject_GC_Del+0x4 (/usr/lib/libpython3.11.so.1.0)
\t          1d0000 [unknown] (/usr/lib/libpython3.11.so.1.0)

pool thread 1  8911/8955  [000] 37597.411063:    5025125 cpu-clock: 
\tffffffff81a73bd5 iowrite16+0xc ([kernel.kallsyms])
\tffffffff8130dd01 vp_notify+0x11 ([kernel.kallsyms])
\t           11c45 operator new(unsigned long)+0x15 (/usr/lib/libstdc++.so.6)

"""  # noqa: W291 - perf ends a line with a blank


def read(tmp_path: Path, text: str):
    path = tmp_path / "perf.txt"
    path.write_text(text, encoding="utf-8")
    return read_perf_script(path)


def test_stacks_are_read_from_the_root(tmp_path: Path) -> None:
    found = read(tmp_path, STACKS)
    assert found.kind.tolist() == [Kind.SAMPLE] * 2
    assert found.start_ns.tolist() == [37597405942000, 37597411063000]
    assert found.text(found.name) == ["PyObject_GC_Del", "iowrite16"]
    assert found.text(found.name2) == ["/usr/lib/libpython3.11.so.1.0", "[kernel.kallsyms]"]
    assert found.text(found.site) == ["[libpython3.11.so.1.0];PyObject_GC_Del", "operator new(unsigned long);vp_notify;iowrite16"]
    assert found.tag.tolist() == [4, 12]
    assert (found.pid.tolist(), found.tid.tolist(), found.cpu.tolist()) == ([8911, 8911], [8911, 8955], [1, 0])
    assert found.weight_ns.tolist() == [5025125, 5025125]
    assert found.attributes["threads"] == {"8911/8911": "python3", "8911/8955": "pool thread 1"}
    assert found.notes == ()


def test_one_line_a_sample_without_stacks(tmp_path: Path) -> None:
    first = "a 1/2 10.000000: 250000 task-clock:u: 4005d0 main+0x20 (/bin/a)"
    text = f"{first}\nb c 3/4 11.000000001: 250000 task-clock:u: 0 [unknown] ([unknown])\n"
    found = read(tmp_path, text)
    assert found.text(found.name) == ["main", "[unknown]"]
    assert found.weight_ns.tolist() == [250000, 250000]
    assert found.start_ns.tolist() == [10_000_000_000, 11_000_000_001]
    assert found.cpu.tolist() == [-1, -1]


@pytest.mark.parametrize("words", ["-F 1000 -- a", "-F 1000 -- a -F 5", "--freq=1000 -g a -F 5", "-F1000 a"])
def test_other_events_stand_for_one_over_the_frequency(tmp_path: Path, words: str) -> None:
    text = f"# cmdline : perf record {words}\na 1/1 [000] 1.000000: 77 cycles: 10 f+0x1 (a)\n"
    found = read(tmp_path, text)
    assert found.weight_ns.tolist() == [1_000_000]
    assert found.flags.tolist() == [0]
    assert "1000 a second" in found.notes[0]


def test_an_option_of_the_command_is_no_frequency(tmp_path: Path) -> None:
    found = read(tmp_path, "# cmdline : perf record -- a -F 5\na 1/1 [000] 1.000000: 77 cycles: 10 f+0x1 (a)\n")
    assert found.flags.tolist() == [Flag.ASSUMED_TIME]


def test_without_a_frequency_samples_share_their_distances(tmp_path: Path) -> None:
    lines = [f"a 1/1 [00{number % 2}] 1.{number * 1000:06d}: 9 cycles: 10 f+0x1 (a)" for number in range(8)]
    found = read(tmp_path, "\n".join(lines))
    assert set(found.weight_ns.tolist()) == {2_000_000}
    assert set(found.flags.tolist()) == {Flag.ASSUMED_TIME}


def test_a_process_is_called_as_it_was_last(tmp_path: Path) -> None:
    text = "sh 1/1 1.000000: 5 cpu-clock: 1 f (a)\ntrain 1/1 2.000000: 5 cpu-clock: 1 f (a)\n"
    assert read(tmp_path, text).attributes["threads"] == {"1/1": "train"}


def test_a_sample_without_a_function_is_counted(tmp_path: Path) -> None:
    found = read(tmp_path, "a 1/1 1.000000: 5 cpu-clock: \n\n")
    assert found.name.tolist() == [-1]
    assert found.notes == ("1 samples of perf.txt name no function",)


@pytest.mark.parametrize(
    ("text", "line"),
    [("nonsense\n", 1), (STACKS + "what is this\n", 10), ("a 99999999999/1 1.000000: 5 cpu-clock: 1 f (a)", 1)],
)
def test_wrong_text_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    assert f"perf.txt, line {line}" in str(caught.value)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="empty"):
        read(tmp_path, "")


@pytest.mark.parametrize(
    ("frame", "name", "file"),
    [
        (
            "1f call<void (char**, long const*)>::{lambda(float)#1}+0x2d5 (/lib/libtorch_cpu.so)",
            "call<void (char**, long const*)>::{lambda(float)#1}",
            "/lib/libtorch_cpu.so",
        ),
        ("1f call<void (int)> (/lib/a.so)", "call<void (int)>", "/lib/a.so"),
        ("1f main+0x1 (/data/a (1)/b)", "main", "/data/a (1)/b"),
        ("1f [unknown] (/memfd:x (deleted))", "[unknown]", "/memfd:x (deleted)"),
        ("1f main (/bin/a (deleted))", "main", "/bin/a (deleted)"),
    ],
)
def test_names_and_files_may_hold_brackets(tmp_path: Path, frame: str, name: str, file: str) -> None:
    found = read(tmp_path, f"a 1/1 [000] 1.000000: 5000000 cpu-clock: \n\t{frame}\n\n")
    assert found.text(found.name2) == [file]
    assert found.text(found.name) == [f"[{file.rpartition('/')[2]}]" if name == "[unknown]" else name]


def two_events(first: str, second: str) -> str:
    """One thread for a second, sampled a hundred times by each event."""
    lines = [
        f"a 1/1 [000] 1.{at * 10_000 + shift:06d}: {10_000_000 if 'clock' in event else 77} {event}: 10 {name}+0x1 (a)"
        for at in range(100)
        for shift, event, name in ((0, first, "f"), (3_000, second, "g"))
    ]
    return "\n".join(["# cmdline : perf record -F 100 -e x -- a", *lines])


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("cache-misses", "cpu-clock:u", "g"),
        ("instructions", "cycles:P", "g"),
        ("instructions", "cpu_core/cycles:u/", "g"),
        ("branches", "cache-misses", "f"),
        ("task-clock", "cpu-clock", "f"),
    ],
)
def test_samples_of_several_events_tell_a_second_once(tmp_path: Path, first: str, second: str, kept: str) -> None:
    found = read(tmp_path, two_events(first, second))
    assert found.weight_ns.sum() == pytest.approx(1e9)
    assert set(found.text(found.name)) == {kept}
    assert "are of several events, which tell the same time" in found.notes[0]


def test_cycles_of_two_kinds_of_cores_are_one_event(tmp_path: Path) -> None:
    found = read(tmp_path, two_events("cpu_core/cycles/P", "cpu_atom/cycles:u/"))
    assert (len(found), found.text(found.name)[:2]) == (200, ["f", "g"])
    assert [note for note in found.notes if "several" in note] == []
