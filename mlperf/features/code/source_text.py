"""Functions of assembler source (``.s``), portion by portion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.features.code.counts import FunctionCounts, function_counts
from mlperf.features.code.function_body import SWITCHES, FunctionBody, Sections
from mlperf.features.code.processors.vocabulary import NOTHING, Dialect, Vocabulary
from mlperf.features.code.processors.x86 import X86
from mlperf.features.code.statements import LABEL, SEVERAL, LineCoder, operand_text, without_comment

_TYPE = re.compile(r'\.type\s+"?([^\s",]+)"?\s*,\s*[@%#"]?(?:function|STT_FUNC|gnu_indirect_function)')
_GLOBAL = re.compile(r"^\s*\.?glob(?:l|al)\s+(\S+)", re.MULTILINE)
_LOCAL = re.compile(r"\.?L[\w.$]+")
_COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?(?:\*/|\Z)', re.DOTALL)
_SYNTAX = re.compile(r"^[ \t]*\.(intel|att)_syntax\b[^\n]*", re.MULTILINE)
MACROS = frozenset({".rept", ".irp", ".irpc", ".macro"})


class SourceReader:
    """Reads assembler source in portions of whole lines and hands out functions as they end.

    Parameters
    ----------
    path : str
        For messages and results.
    dialect : Dialect
        Architecture and syntax at the beginning; x86 source may change its syntax.
    with_loops : bool
        Whether to look for loops.
    head : str
        Beginning of the file: whether it declares functions decides which labels begin one.
    """

    def __init__(self, path: str, dialect: Dialect, *, with_loops: bool, head: str) -> None:
        self.path = path
        self.with_loops = with_loops
        self.vocabulary = Vocabulary()
        self.coders = {dialect.syntax: LineCoder(dialect, self.vocabulary, with_loops=with_loops)}
        self.coder = self.coders[dialect.syntax]
        self.functions = set(_TYPE.findall(head))
        self.globals = set(_GLOBAL.findall(head))
        self.is_declared = bool(self.functions)
        self.has_globals = bool(self.globals)
        self.sections = Sections()
        self.open: dict[str, FunctionBody] = {}
        self.waiting: list[FunctionBody] = []
        self.tables: dict[str, list[str]] = {}
        self.table = ""
        self.line = 0
        self.is_comment = False

    def read(self, portions: Iterable[str]) -> Iterator[FunctionCounts]:
        """Every function, in the order of their ends."""
        for text in portions:
            begin = 0
            plain = self.plain(text)
            for switch in _SYNTAX.finditer(plain) if "_syntax" in plain else ():
                yield from self.feed(plain[begin : switch.start()])
                self.change_syntax(switch[1])
                begin = switch.end()
            yield from self.feed(plain[begin:])
        for section in [*self.open]:
            yield from self.close(section)
        for body in self.waiting:
            yield self.counted(body)

    def change_syntax(self, name: str) -> None:
        """Follow ``.intel_syntax`` and ``.att_syntax``."""
        self.coders.setdefault(name, LineCoder(X86(name), self.vocabulary, with_loops=self.with_loops))
        self.coder = self.coders[name]

    def plain(self, text: str) -> str:
        """Text with comments of several lines blanked; they may go on from one portion to the next."""
        if self.is_comment:
            before, end, after = text.partition("*/")
            self.is_comment = not end
            text = "\n" * before.count("\n") + after
        if "/*" not in text:
            return text

        def blank(found: re.Match[str]) -> str:
            if found[0][0] == '"':
                return found[0]
            self.is_comment = not found[0].endswith("*/")
            return " " + "\n" * found[0].count("\n")

        return _COMMENT_OR_STRING.sub(blank, text)

    def feed(self, text: str) -> Iterator[FunctionCounts]:
        """Take in lines; hand out the functions that end in them."""
        lines = text.split("\n")
        codes = self.codes_of(lines)
        if (codes == SEVERAL).any():
            lines = [part for line, code in zip(lines, codes.tolist(), strict=True) for part in self.parts_of(line, code)]
            codes = self.codes_of(lines)
        counted = np.cumsum(codes > NOTHING)
        marked = np.flatnonzero((codes < NOTHING) | (self.vocabulary.leaves[np.maximum(codes, NOTHING)] & self.with_loops))
        mark = self.coder.dialect.comment
        begin, taken, body = 0, 0, self.body
        for place, code, upto in zip(marked.tolist(), codes[marked].tolist(), counted[marked].tolist(), strict=True):
            line = lines[place]
            if code > NOTHING:
                if body is not None:
                    body.branches.append((body.n + upto - taken - 1, code, operand_text(line, mark)))
            elif code == LABEL and not self.begins_function(name := label_name(line)):
                self.table = name
                if body is not None:
                    body.add_label(name, body.n + upto - taken)
            else:
                take(body, codes[begin:place], upto - taken)
                begin, taken = place, upto
                if code == LABEL:
                    yield from self.close(self.sections.name)
                    self.open[self.sections.name] = FunctionBody(name, labels={} if name in self.globals else {name: 0})
                else:
                    yield from self.directive(without_comment(line, mark).strip(), self.line + place + 1)
                body = self.body
        take(body, codes[begin:], (int(counted[-1]) if len(counted) else 0) - taken)
        self.line += len(lines) - 1

    @property
    def body(self) -> FunctionBody | None:
        """The function that the current section is in."""
        return self.open.get(self.sections.name)

    def codes_of(self, lines: list[str]) -> IntArray:
        """Code of every line."""
        return np.fromiter(map(self.coder.__getitem__, lines), dtype=np.int64, count=len(lines))

    def parts_of(self, line: str, code: int) -> list[str]:
        """A line of several statements as one line for each."""
        return [line] if code != SEVERAL else [statement.text for statement in self.coder.statements(line)]

    def begins_function(self, name: str) -> bool:
        """Whether a label is a function's."""
        if not self.sections.is_code or name.startswith(".L") or name.isdigit():
            return False
        if self.is_declared:
            return name in self.functions
        return name in self.globals if self.has_globals else not name.startswith(".")

    def directive(self, text: str, line: int) -> Iterator[FunctionCounts]:
        """Follow a directive that matters."""
        word, _, arguments = text.replace("\t", " ", 1).partition(" ")
        word = word.lower()
        if word in SWITCHES:
            self.sections.switch(word, arguments)
        elif word == ".type":
            if "func" in arguments.lower():
                self.functions.add(first_name(arguments))
        elif word in (".globl", ".global", "global"):
            self.globals.add(first_name(arguments))
        elif word == ".size":
            ended = first_name(arguments)
            for section in [section for section, body in self.open.items() if body.name == ended]:
                yield from self.close(section)
        elif word in MACROS:
            raise DataError(
                f"got {word}, expected source without macros", place=f"{self.path}, line {line}",
                hint="Expand it: assemble the file and give the object, or its objdump -d.",
            )  # fmt: skip
        elif not self.sections.name.startswith((".debug", ".eh_frame")):
            self.tables.setdefault(self.table, []).extend(entry[0] for entry in map(_LOCAL.search, arguments.split(",")) if entry)

    def close(self, section: str) -> Iterator[FunctionCounts]:
        """End the function that is open in a section; with computed jumps it waits for the tables after it."""
        body = self.open.pop(section, None)
        if body is None:
            return
        if any(self.vocabulary[code].flow == "indirect" for _, code, _ in body.branches):
            self.waiting.append(body)
        else:
            yield self.counted(body)

    def counted(self, body: FunctionBody) -> FunctionCounts:
        """Counts of a function that has ended."""
        exits = body.exits(self.vocabulary, self.tables) if self.with_loops else None
        architecture = self.coder.dialect.architecture
        return function_counts(self.path, body.name, architecture, body.codes(), exits, self.vocabulary)


def take(body: FunctionBody | None, codes: IntArray, count: int) -> None:
    """Add the instructions among codes to a function."""
    if body is not None and count:
        body.parts.append(codes[codes > NOTHING])
        body.n += count


def first_name(arguments: str) -> str:
    """First of a directive's arguments."""
    return arguments.partition(",")[0].strip().strip('"')


def label_name(line: str) -> str:
    """Name of the label that a line begins with."""
    return line.strip().partition(":")[0].strip().strip('"')
