"""C text before the parser: comments, preprocessor lines and compiler words taken out, every line where it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mlperf.core.errors import DataError
from mlperf.features.source.polynomial import LONGEST, Polynomial, parse_expression

_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*?)\s*$")
_DEFINE = re.compile(r"(\w+)(\(?)(.*)$")
_COMPILER_WORDS = re.compile(r"\b__(?:extension|inline|const|volatile)(?:__)?\b")
_ATTRIBUTE = re.compile(r"\b(?:__attribute(?:__)?|__declspec)\s*(?=\()")
_RESTRICT = re.compile(r"\b__restrict(?:__)?\b")
_TYPE_WORDS = re.compile(r"(?:(?:const|unsigned|signed|short|long|int|char|float|double|struct|\w+_t)\s*)+$")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_BRACKETS = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)$")
_FRACTION = re.compile(r"\(?[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?[fFlL]?\)?$")

# Names of the standard headers, which are not read; sizes as on 64-bit Linux.
STANDARD_TYPES: Mapping[str, str] = {
        "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
        "int32_t": "int", "uint32_t": "unsigned", "int64_t": "long", "uint64_t": "unsigned long",
        "size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
        "bool": "_Bool", "FILE": "int", "_Float16": "short", "__fp16": "short", "__bf16": "short",
    }  # fmt: skip


@dataclass(slots=True)
class PreprocessedSource:
    """What the preprocessor lines left behind.

    Attributes
    ----------
    text : str
        C without preprocessor lines; line numbers are those of the file.
    constants : dict
        Macros that stand for one whole number in the whole file.
    replaced : dict
        Text of the other macros, as defined at the line that was read last.
    defined : set
        Every macro that is defined there.
    changing : frozenset
        Macros that are defined twice or undefined again: what they stand for depends on the line.
    active : list
        Whether each open condition holds, outermost first.
    """

    text: str = ""
    constants: dict[str, Polynomial] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)
    changing: frozenset[str] = frozenset()
    active: list[bool] = field(default_factory=list)


def preprocess(text: str, path: str) -> PreprocessedSource:
    """Take comments, compiler words and preprocessor lines out of C text.

    Raises
    ------
    DataError
        A macro with parameters or a condition that is not about whether a name is defined; names the line.
    """
    lines = _blanked(_COMMENTS, text, keep="\"'").split("\n")
    state = PreprocessedSource(changing=_changing(lines))
    kept = []
    number = 0
    while number < len(lines):
        first = number
        line = lines[number]
        while line.lstrip().startswith("#") and line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + lines[number]
        kept.append(_line(line, state, f"{path}, line {first + 1}"))
        kept.extend([""] * (number - first))
        number += 1
    body = _RESTRICT.sub(lambda found: "restrict".ljust(len(found[0])), "\n".join(kept))
    state.text = _without_attributes(_blanked(_COMPILER_WORDS, body))
    return state


def _changing(lines: list[str]) -> frozenset[str]:
    """Macros that two lines define, or one line undefines."""
    found = [found for line in lines if (found := _DIRECTIVE.match(line))]
    defined = Counter(name[0] for each in found if each[1] == "define" and (name := re.match(r"\w+", each[2])))
    undefined = {each[2] for each in found if each[1] == "undef"}
    return frozenset(undefined | {name for name, times in defined.items() if times > 1})


def _without_attributes(text: str) -> str:
    """C text with blanks in place of ``__attribute__((...))``, whatever brackets stand inside."""
    kept, begin = [], 0
    for found in _ATTRIBUTE.finditer(text):
        if found.start() < begin:
            continue
        end, depth = found.end(), 0
        while end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        kept += [text[begin : found.start()], re.sub(r"[^\n]", " ", text[found.start() : end])]
        begin = end
    return "".join([*kept, text[begin:]])


def _blanked(pattern: re.Pattern[str], text: str, keep: str = "") -> str:
    def blank(found: re.Match[str]) -> str:
        return found[0] if keep and found[0][0] in keep else re.sub(r"[^\n]", " ", found[0])

    return pattern.sub(blank, text)


def _line(line: str, state: PreprocessedSource, place: str) -> str:
    found = _DIRECTIVE.match(line)
    if found:
        handler = DIRECTIVES.get(found[1])
        # Of lines left out, those that open and close conditions count; #elif does where it may end what is left out.
        left_out = state.active[:-1] if found[1] == "elif" else state.active
        if handler is None and not all(left_out):
            return ""
        if handler is None:
            raise DataError(f"got #{found[1]}, expected a preprocessor line that is read here", place=place, hint=HINT)
        return handler(found[2], state, place)
    if not all(state.active):
        return ""
    return _expanded(line, state.replaced, place)


def _expanded(line: str, replaced: Mapping[str, str], place: str) -> str:
    """A line with the text of macros in place of their names, also where that text holds further names."""
    for _ in replaced:
        before = line
        line = _NAME.sub(lambda found: replaced.get(found[0], found[0]), line)
        if line == before:
            break
        if len(line) > max(LONGEST, len(before)):
            raise DataError(f"got macros that make a line of more than {LONGEST:,} characters", place=place, hint=HINT)
    return line


HINT = "Run the preprocessor first, as in cc -E -P file.c > plain.c, or write the lines out."


def _define(rest: str, state: PreprocessedSource, place: str) -> str:
    if not all(state.active):
        return ""
    found = _DEFINE.match(rest)
    if found is None or found[2]:
        raise DataError(f"got a macro with parameters, #define {rest}", place=place, hint=HINT)
    name, value = found[1], _SUFFIX.sub(r"\1", found[3].strip())
    state.defined.add(name)
    if name in state.changing:
        state.replaced[name] = value
        return ""
    if _TYPE_WORDS.match(value):
        return f"typedef {value} {name};"
    number = _whole_number(value, state, place)
    if number is not None:
        state.constants[name] = number
    elif not _FRACTION.match(value):
        state.replaced[name] = value
    return ""


def _whole_number(value: str, state: PreprocessedSource, place: str) -> Polynomial | None:
    """The number that a macro's text is wherever it stands: a plain one, or brackets around it; None for any other text."""
    if not (value.removeprefix("-").isdigit() or _BRACKETS.match(value)):
        return None
    try:
        numbers = {name: known.constant for name, known in state.constants.items() if known.constant is not None}
        number = parse_expression(value, place).bound(numbers)
    except DataError:
        return None
    return None if number.constant is None else number


def _undefine(rest: str, state: PreprocessedSource, _place: str) -> str:
    if all(state.active):
        state.defined.discard(rest)
        state.replaced.pop(rest, None)
    return ""


def _nothing(_rest: str, _state: PreprocessedSource, _place: str) -> str:
    return ""


def _if_defined(rest: str, state: PreprocessedSource, _place: str) -> str:
    state.active.append(rest in state.defined)
    return ""


def _if_not_defined(rest: str, state: PreprocessedSource, _place: str) -> str:
    state.active.append(rest not in state.defined)
    return ""


def _if(rest: str, state: PreprocessedSource, place: str) -> str:
    if rest not in ("0", "1") and all(state.active):
        raise DataError(f"got #if {rest}, expected #if 0, #if 1, #ifdef or #ifndef", place=place, hint=HINT)
    state.active.append(rest == "1")
    return ""


def _else(_rest: str, state: PreprocessedSource, place: str) -> str:
    if not state.active:
        raise DataError("got #else without #if", place=place, hint="Check the lines that begin with #.")
    state.active[-1] = not state.active[-1]
    return ""


def _end(_rest: str, state: PreprocessedSource, place: str) -> str:
    if not state.active:
        raise DataError("got #endif without #if", place=place, hint="Check the lines that begin with #.")
    state.active.pop()
    return ""


DIRECTIVES: Mapping[str, Callable[[str, PreprocessedSource, str], str]] = {
    "define": _define,
    "undef": _undefine,
    "include": _nothing,
    "pragma": _nothing,
    "ifdef": _if_defined,
    "ifndef": _if_not_defined,
    "if": _if,
    "else": _else,
    "endif": _end,
}
