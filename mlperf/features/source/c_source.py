"""C text before the parser: comments, preprocessor lines and compiler words taken out, every line where it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mlperf.core.errors import DataError
from mlperf.features.source.polynomial import Polynomial, parse_expression

_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*?)\s*$")
_DEFINE = re.compile(r"(\w+)(\(?)(.*)$")
_ATTRIBUTES = re.compile(r"__attribute__\s*\(\(.*?\)\)|__extension__|__inline__|__inline\b|\b__(?:const|volatile)__?\b")
_RESTRICT = re.compile(r"\b__restrict(?:__)?\b")
_TYPE_WORDS = re.compile(r"(?:(?:const|unsigned|signed|short|long|int|char|float|double|struct|\w+_t)\s*)+$")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_NUMBER = re.compile(r"\(?[-+]?[\d.]+(?:[eE][-+]?\d+)?[fFlL]?\)?$")

# Names of the standard headers, which are not read; sizes as on 64-bit Linux.
STANDARD_TYPES: Mapping[str, str] = {
        "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
        "int32_t": "int", "uint32_t": "unsigned", "int64_t": "long", "uint64_t": "unsigned long",
        "size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
        "bool": "_Bool", "FILE": "int",
    }  # fmt: skip


@dataclass(slots=True)
class PreprocessedSource:
    """What the preprocessor lines left behind.

    Attributes
    ----------
    text : str
        C without preprocessor lines; line numbers are those of the file.
    constants : dict
        Macros that stand for whole numbers.
    """

    text: str = ""
    constants: dict[str, Polynomial] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    active: list[bool] = field(default_factory=list)


def preprocess(text: str, path: str) -> PreprocessedSource:
    """Take comments, compiler words and preprocessor lines out of C text.

    Raises
    ------
    DataError
        A macro with parameters or a condition that is not about whether a name is defined; names the line.
    """
    state = PreprocessedSource()
    lines = _blanked(_COMMENTS, text, keep="\"'").split("\n")
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
    state.text = _blanked(_ATTRIBUTES, body)
    return state


def _blanked(pattern: re.Pattern[str], text: str, keep: str = "") -> str:
    def blank(found: re.Match[str]) -> str:
        return found[0] if keep and found[0][0] in keep else re.sub(r"[^\n]", " ", found[0])

    return pattern.sub(blank, text)


def _line(line: str, state: PreprocessedSource, place: str) -> str:
    found = _DIRECTIVE.match(line)
    if found:
        handler = DIRECTIVES.get(found[1])
        if handler is None:
            raise DataError(f"got #{found[1]}, expected a preprocessor line that is read here", place=place, hint=HINT)
        return handler(found[2], state, place)
    if not all(state.active):
        return ""
    for name, value in state.replaced.items():
        line = re.sub(rf"\b{name}\b", value, line)
    return line


HINT = "Run the preprocessor first, as in cc -E -P file.c > plain.c, or write the lines out."


def _define(rest: str, state: PreprocessedSource, place: str) -> str:
    if not all(state.active):
        return ""
    found = _DEFINE.match(rest)
    if found is None or found[2]:
        raise DataError(f"got a macro with parameters, #define {rest}", place=place, hint=HINT)
    name, value = found[1], _SUFFIX.sub(r"\1", found[3].strip())
    if _TYPE_WORDS.match(value):
        return f"typedef {value} {name};"
    try:
        state.constants[name] = parse_expression(value, place).bound(_numbers(state.constants))
    except DataError:
        if not _NUMBER.match(value):
            state.replaced[name] = value
    return ""


def _numbers(constants: Mapping[str, Polynomial]) -> dict[str, int]:
    return {name: value.constant for name, value in constants.items() if value.constant is not None}


def _undefine(rest: str, state: PreprocessedSource, _place: str) -> str:
    if all(state.active):
        state.constants.pop(rest, None)
        state.replaced.pop(rest, None)
    return ""


def _nothing(_rest: str, _state: PreprocessedSource, _place: str) -> str:
    return ""


def _if_defined(rest: str, state: PreprocessedSource, _place: str) -> str:
    state.active.append(rest in state.constants or rest in state.replaced)
    return ""


def _if_not_defined(rest: str, state: PreprocessedSource, _place: str) -> str:
    state.active.append(rest not in state.constants and rest not in state.replaced)
    return ""


def _if(rest: str, state: PreprocessedSource, place: str) -> str:
    if rest not in ("0", "1"):
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
