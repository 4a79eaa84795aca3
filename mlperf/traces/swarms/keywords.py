"""Rules that name swarms by words in functions, files and threads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.traces.swarms.functions import Functions

ROLES = ("", "network", "compute", "idle")
KEYS = ("name", "role", "words", "files", "threads")
HINT = '[[swarm]]\nname = "decode"\nwords = ["jpeg_", "inflate"]'
NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Rule:
    """A named swarm and what belongs to it.

    Attributes
    ----------
    name : str
    role : str
        ``"network"``, ``"compute"``, ``"idle"``, or empty.
    words, files, threads : re.Pattern
        Searched for in the function's name, its file, its thread's name; one that fits is enough.
    """

    name: str
    role: str
    words: re.Pattern[str]
    files: re.Pattern[str]
    threads: re.Pattern[str]


def read_rules(path: Path | None = None) -> tuple[Rule, ...]:
    """Read rules from a TOML file; without one the rules that come with the package.

    Raises
    ------
    DataError
        A rule has no name, an unknown key or role, or a word that is no regular expression; names file and rule.
    """
    if path is None:
        with resources.as_file(resources.files("mlperf.traces.swarms") / "keywords.toml") as own:
            return _rules(own)
    return _rules(path)


def _rules(path: Path) -> tuple[Rule, ...]:
    content = read_toml(path)
    rows = content.get("swarm")
    if not isinstance(rows, list) or set(content) != {"swarm"}:
        raise DataError(f"got {', '.join(content) or 'nothing'}, expected [[swarm]] tables", place=str(path), hint=HINT)
    return tuple(_rule(row, f"{path}, swarm {number}") for number, row in enumerate(rows, 1))


def _rule(row: Any, place: str) -> Rule:
    """One table as a rule."""
    if not isinstance(row, Mapping) or not isinstance(row.get("name"), str) or not row["name"].strip():
        raise DataError("has no name", place=place, hint=HINT)
    unknown = [key for key in row if key not in KEYS]
    if unknown:
        raise DataError(f"got key {unknown[0]!r}, expected one of {', '.join(KEYS)}", place=place, hint=HINT)
    if row.get("role", "") not in ROLES:
        raise DataError(f"got role {row['role']!r}, expected one of {', '.join(ROLES[1:])}", place=place)
    patterns = [_pattern(row.get(key, []), f"{place}, {key}") for key in KEYS[2:]]
    if all(each is NEVER for each in patterns):
        raise DataError("has no words, files or threads", place=place, hint=HINT)
    return Rule(row["name"], row.get("role", ""), *patterns)


def _pattern(words: Any, place: str) -> re.Pattern[str]:
    """Any of some expressions."""
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise DataError(f"got {words!r:.60}, expected a list of words", place=place, hint=HINT)
    for word in words:
        try:
            re.compile(word)
        except re.error as error:
            raise DataError(f"got {word!r}, expected a regular expression ({error})", place=place) from None
    return re.compile("|".join(f"(?:{word})" for word in words), re.IGNORECASE) if words else NEVER


def fitting_rules(functions: Functions, rules: Sequence[Rule]) -> IntArray:
    """Number of the first rule that takes each function, -1 where none does, shape (n_functions,)."""
    found = np.full(len(functions), -1, dtype=np.int64)
    columns = (functions.function, functions.file, functions.thread)
    for number, rule in enumerate(rules):
        left = np.flatnonzero(found < 0)
        for column, pattern in zip(columns, (rule.words, rule.files, rule.threads), strict=True):
            if pattern is NEVER:
                continue
            fits = {text for text in {column[at] for at in left.tolist()} if pattern.search(text)}
            taken = np.array([column[at] in fits for at in left.tolist()], dtype=bool)
            found[left[taken]] = number
            left = left[~taken]
    return found
