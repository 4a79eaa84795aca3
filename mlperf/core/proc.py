"""Small files in which Linux tells of processes and of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def text_of(path: Path) -> str:
    """Content of such a file; empty where it is not there, its process has gone, or it is not ours to read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def tasks_of(folder: Path) -> list[Path]:
    """Folders of the threads of a process's folder; none where it has gone, be it while they are listed."""
    try:
        return list((folder / "task").iterdir())
    except OSError:
        return []


def words_of(path: Path) -> dict[str, list[str]]:
    """Words behind the first one of each line, by that word without its colon."""
    lines = (line.split() for line in text_of(path).splitlines())
    return {words[0].removesuffix(":"): words[1:] for words in lines if words}


def numbers_of(path: Path, names: Mapping[str, str]) -> dict[str, float]:
    """Numbers behind the first words of lines, by our names for them; those that the file lacks are left out."""
    words = words_of(path)
    return {ours: float(words[name][0]) for ours, name in names.items() if name in words}


def stat_words(folder: Path) -> list[str]:
    """Words of ``stat`` in a process's folder from its state on (its name before may hold anything); none where it has gone."""
    return text_of(folder / "stat").rpartition(")")[2].split()


def processor_facts() -> dict[str, str]:
    """What ``/proc/cpuinfo`` tells of the first processor."""
    facts: dict[str, str] = {}
    for line in text_of(CPUINFO).splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts
