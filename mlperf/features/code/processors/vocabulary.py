"""Numbers for instructions: equal ones share a number, so that counting a file is counting small numbers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mlperf.core.arrays import BoolArray
from mlperf.features.code.processors.instruction import Instruction

NOTHING = 0


class Dialect(Protocol):
    """How instructions of one architecture and syntax are written."""

    @property
    def architecture(self) -> str:
        """``"x86-64"`` or ``"aarch64"``."""

    @property
    def syntax(self) -> str:
        """``"att"``, ``"intel"`` or ``"arm"``."""

    @property
    def comment(self) -> str:
        """What begins a comment that runs to the end of the line."""

    def decode(self, text: str) -> Instruction | None:
        """The instruction of a text without comment; None for what is not counted."""

    def shape(self, text: str) -> str:
        """What of a text decides about its instruction: texts of one shape are one instruction."""


class Vocabulary:
    """Instructions by number, from 1; 0 stands for nothing."""

    def __init__(self) -> None:
        self.instructions: list[Instruction | None] = [None]
        self._numbers: dict[Instruction, int] = {}
        self._leaves = np.zeros(1, dtype=np.bool_)

    def number(self, instruction: Instruction | None) -> int:
        """Number of an instruction, a new one where it was not met before; 0 for None."""
        if instruction is None:
            return NOTHING
        known = self._numbers.setdefault(instruction, len(self.instructions))
        if known == len(self.instructions):
            self.instructions.append(instruction)
        return known

    def __getitem__(self, number: int) -> Instruction:
        found = self.instructions[number]
        if found is None:
            raise KeyError(number)
        return found

    @property
    def leaves(self) -> BoolArray:
        """By number: whether control may go elsewhere than to the next instruction."""
        if len(self._leaves) != len(self.instructions):
            self._leaves = np.array([one is not None and one.flow != "" for one in self.instructions], dtype=np.bool_)
        return self._leaves


class InstructionCoder:
    """Numbers of instruction texts; what differs in addresses and registers only is decoded once.

    Parameters
    ----------
    dialect : Dialect
        Architecture and syntax.
    vocabulary : Vocabulary
        Where instructions get their numbers.
    """

    def __init__(self, dialect: Dialect, vocabulary: Vocabulary) -> None:
        self.dialect = dialect
        self.vocabulary = vocabulary
        self._known: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Number of the instruction that a text without comment stands for; 0 for what is not counted."""
        shape = self.dialect.shape(text)
        known = self._known.get(shape)
        if known is None:
            known = self._known[shape] = self.vocabulary.number(self.dialect.decode(text))
        return known


class Memo(dict[str, int]):
    """Code of a line, worked out once for equal lines; forgets everything when it has grown too large."""

    MAX_LINES = 500_000

    def remember(self, line: str, code: int) -> int:
        """Store and return a code."""
        if len(self) >= self.MAX_LINES:
            self.clear()
        self[line] = code
        return code
