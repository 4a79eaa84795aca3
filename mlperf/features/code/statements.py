"""Lines of assembler source: labels, directives and instructions among comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mlperf.features.code.processors.vocabulary import NOTHING, Dialect, InstructionCoder, Memo, Vocabulary

LABEL, DIRECTIVE, SEVERAL = -1, -2, -3

_LABEL = re.compile(r'\s*(?:([A-Za-z0-9_.$@?]+)|"([^"]+)")\s*:(?!:)')
_ASSIGNMENT = re.compile(r"[\w.$]+\s*=[^=]")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_DATA = (".long", ".quad", ".word", ".xword", ".hword", ".byte", ".short", ".int", ".2byte", ".4byte", ".8byte")
_STRUCTURE = """.section .text .data .bss .pushsection .popsection .previous .subsection .type .size .globl .global .rept .irp
.irpc .macro     .intel_syntax .att_syntax .end section segment global"""
STRUCTURE = frozenset(_STRUCTURE.split())
_PLAIN = "section segment global extern bits default align db dw dd dq times"
PLAIN_DIRECTIVES = frozenset(_PLAIN.split())


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a line: code and the text it came from."""

    code: int
    text: str


class LineCoder(Memo):
    """Codes of assembler lines: an instruction's number, 0 for nothing, or `LABEL`, `DIRECTIVE`, `SEVERAL`.

    Parameters
    ----------
    dialect : Dialect
        Architecture and syntax.
    vocabulary : Vocabulary
        Where instructions get their numbers.
    with_loops : bool
        Whether local labels and tables of addresses matter.
    """

    def __init__(self, dialect: Dialect, vocabulary: Vocabulary, *, with_loops: bool) -> None:
        super().__init__()
        self.dialect = dialect
        self.instructions = InstructionCoder(dialect, vocabulary)
        self.with_loops = with_loops
        self.jumps: dict[str, int] = {}

    def __missing__(self, line: str) -> int:
        return self.remember(line, self.code_of(line))

    def code_of(self, line: str) -> int:
        """Code of a line met for the first time; the usual forms of compilers first."""
        if line.startswith(".L") and line.endswith(":"):
            return LABEL if self.with_loops else NOTHING
        words = line.split(None, 2)
        if len(words) == 2 and words[1].startswith(".L") and words[0] in self.jumps:
            return self.jumps[words[0]]
        if line.startswith("\t.") and ";" not in line and ":" not in line:
            return self.directive_code(words[0], line)
        code = self.general_code(line)
        if code > NOTHING and len(words) == 2 and words[1].startswith(".L"):
            self.jumps[words[0]] = code
        return code

    def general_code(self, line: str) -> int:
        """Code of a line of any form."""
        found = [statement.code for statement in self.statements(line) if statement.code != NOTHING]
        if len(found) > 1:
            return SEVERAL
        return found[0] if found else NOTHING

    def statements(self, line: str) -> Iterator[Statement]:
        """Every statement of a line."""
        text = without_comment(line, self.dialect.comment).strip()
        while text:
            label = _LABEL.match(text) if ":" in text else None
            if label:
                name = label[1] or label[2]
                yield Statement(LABEL if self.with_loops or not name.startswith(".L") else NOTHING, name + ":")
                text = text[label.end() :].strip()
                continue
            first, text = split_statement(text)
            yield Statement(self.single(first), first)

    def single(self, text: str) -> int:
        """Code of a statement without label."""
        if not text or text[0] in "#@/":
            return NOTHING
        word = text.split(None, 1)[0].lower()
        if word[0] == "." or word in PLAIN_DIRECTIVES:
            return self.directive_code(word, text)
        if _ASSIGNMENT.match(text) or not (word[0].isalpha() or word[0] in "{_"):
            return NOTHING
        return self.instructions.number(text)

    def directive_code(self, word: str, text: str) -> int:
        """Code of a directive: only those that shape functions matter, and tables of addresses where loops do."""
        is_table = self.with_loops and word in _DATA and ".L" in text
        return DIRECTIVE if word in STRUCTURE or is_table else NOTHING


def without_comment(line: str, mark: str) -> str:
    """A line up to its comment, marks inside strings aside."""
    if mark not in line and "#" not in line[:1]:
        return line
    if '"' in line:
        bare = _STRING.sub(lambda found: "x" * len(found[0]), line)
        place = bare.find(mark)
        return line if place < 0 else line[:place]
    return line.partition(mark)[0]


def split_statement(text: str) -> tuple[str, str]:
    """The first of several statements on a line, and what follows its ``;``."""
    if ";" not in text:
        return text, ""
    bare = _STRING.sub(lambda found: "x" * len(found[0]), text) if '"' in text else text
    place = bare.find(";")
    return (text, "") if place < 0 else (text[:place].strip(), text[place + 1 :].strip())


def operand_text(line: str, mark: str) -> str:
    """The last operand of a line, which is where a branch leads to."""
    words = without_comment(line, mark).replace(",", " ").split()
    return words[-1] if words else ""
