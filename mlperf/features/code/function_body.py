"""A function of assembler source while it is being read, and which section its text lies in."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.features.code.flow import Exit
from mlperf.features.code.processors.vocabulary import Vocabulary


@dataclass(slots=True)
class FunctionBody:
    """Instructions, labels and branches of one function.

    Attributes
    ----------
    name : str
        Its label.
    parts : list of int array
        Codes of its lines, in order.
    n : int
        Instructions so far.
    labels : dict
        Number of the instruction that follows each label.
    numeric : dict
        The same for labels such as ``1:``, which may occur often.
    branches : list of (int, int, str)
        Number and code of each instruction that may lead elsewhere, and where to.
    """

    name: str
    parts: list[IntArray] = field(default_factory=list)
    n: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    numeric: dict[str, list[int]] = field(default_factory=dict)
    branches: list[tuple[int, int, str]] = field(default_factory=list)

    def add_label(self, name: str, at: int) -> None:
        """Note a label before instruction ``at``."""
        if name.isdigit():
            self.numeric.setdefault(name, []).append(at)
        else:
            self.labels[name] = at

    def codes(self) -> IntArray:
        """All instructions by number."""
        return np.concatenate(self.parts) if self.parts else np.zeros(0, dtype=np.int64)

    def target(self, text: str, at: int) -> tuple[int, ...]:
        """Instruction that a branch at ``at`` leads to; empty where it leaves the function."""
        place = self.labels.get(text)
        if place is None and text[:-1] in self.numeric and text[-1] in "bf":
            places = self.numeric[text[:-1]]
            number = bisect_right(places, at) - 1 if text[-1] == "b" else bisect_left(places, at + 1)
            place = places[number] if 0 <= number < len(places) else None
        return () if place is None or place >= self.n else (place,)

    def exits(self, vocabulary: Vocabulary, tables: Mapping[str, Sequence[str]]) -> list[Exit]:
        """Where control leaves the straight line.

        Parameters
        ----------
        vocabulary : Vocabulary
            Instructions by number.
        tables : mapping
            Label of a table of addresses to the labels it lists.
        """
        if not any(vocabulary[code].flow == "indirect" for _, code, _ in self.branches):
            tables = {}
        own = [targets for labels in tables.values() if (targets := self.table_targets(labels))]
        indirect = [at for at, code, _ in self.branches if vocabulary[code].flow == "indirect"]
        # Compilers write tables in the order of their jumps; where numbers differ, every jump may use every table.
        in_order = own if len(own) == len(indirect) else [tuple(dict.fromkeys(chain(*own)))] * len(indirect)
        by_jump = dict(zip(indirect, in_order, strict=True))
        found = []
        for at, code, text in self.branches:
            flow = vocabulary[code].flow
            if flow == "indirect":
                found.append(Exit(at, by_jump[at], False, not by_jump[at]))
            elif flow == "return":
                found.append(Exit(at, (), False))
            else:
                found.append(Exit(at, self.target(text, at), flow == "branch"))
        return found

    def table_targets(self, labels: Sequence[str]) -> tuple[int, ...]:
        """Instructions that a table lists, where all of them are in this function; empty for other tables."""
        places = [self.labels.get(label, self.n) for label in labels]
        return tuple(dict.fromkeys(places)) if all(place < self.n for place in places) else ()


_PARTS = re.compile(r'"[^"]*"|[^\s,]+')
_CODE = re.compile(r"\.?(?:text|init|fini|plt)\b|__TEXT")
SIMPLE = frozenset({".text", ".data", ".bss"})
SWITCHES = SIMPLE | {".section", "section", "segment", ".pushsection", ".popsection", ".previous"}


class Sections:
    """Follows the directives that change the section."""

    def __init__(self) -> None:
        self.name = ".text"
        self._previous = ".text"
        self._stack: list[str] = []
        self._executable: dict[str, bool] = {".text": True}

    @property
    def is_code(self) -> bool:
        """Whether the current section holds instructions."""
        return self._executable[self.name]

    def switch(self, directive: str, arguments: str) -> None:
        """Follow one of `SWITCHES`."""
        if directive == ".popsection":
            self._enter(self._stack.pop() if self._stack else ".text")
        elif directive == ".previous":
            self._enter(self._previous)
        elif directive in SIMPLE:
            self._enter(directive)
        else:
            if directive == ".pushsection":
                self._stack.append(self.name)
            parts = [part.strip('"') for part in _PARTS.findall(arguments)]
            name = ",".join(parts[:2]) if parts and parts[0].startswith("__") else (parts[0] if parts else ".text")
            # The second part holds the flags where the assembler is GNU's or LLVM's: x means executable.
            is_code = _CODE.match(name) is not None or (len(parts) > 1 and "x" in parts[1] and not name.startswith("__"))
            self._executable.setdefault(name, is_code)
            self._enter(name)

    def _enter(self, name: str) -> None:
        self._executable.setdefault(name, _CODE.match(name) is not None)
        self._previous, self.name = self.name, name
