"""Names of C++ functions as people and profilers write them, of the symbols that object code has.

A symbol holds a function's parameters and, of a template, what it returns: ``_ZN7picture5scaleEPfi`` is
``picture::scale(float*, int)``. Profilers leave both out, and so do people who ask for a function: ``picture::scale``.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Collection
from functools import cache

LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")
"""Runtimes of C++ compilers; each of them has the function that the platform's interface of C++ prescribes."""
SPECIAL = ("_ZT", "_ZG")
"""Symbols about a function or another thing, as thunks and guard variables: written with all parameters."""
_OPERATOR = re.compile(
    r"\boperator(?P<sign>\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>]=?|[-+*/%^&|=!~]=?|\+\+|--|&&|\|\||,|\"\" ?|(?= ))(?: (?=<))?"
)
# What may follow a function's parameters; the last is which of several machine codes of one function it is.
_AFTER = re.compile(r"(?: const| volatile| noexcept| ?&{1,2})*(?: \[clone [^]]*\])*$")
_QUALIFIED_SCOPE = re.compile(r" (?:const|volatile|noexcept|&{1,2})(?= |::)")
COLD = ".cold"
_SHORT = """TLS __int128 __vector abi allocator anonymous arg auto basic_iostream basic_istream basic_ostream basic_string bool char
    char16_t char32_t char8_t char_traits clone const decltype default delete double false float for function init int iostream
    istream lambda long namespace new noexcept non nullptr operator ostream restrict short signed std string thunk to transaction
    true u ul unnamed unsigned virtual void volatile wchar_t"""
ABBREVIATED = frozenset(_SHORT.split())
"""Words of written names that symbols stand for by a letter or two."""
_WORD = re.compile(r"[A-Za-z_]\w*")
OPENING, CLOSING = "(<[{", ")>]}"


def asked_for(functions: Collection[str]) -> Callable[[str], bool]:
    """Whether a symbol is a function of those named, by its symbol or as it is written; none are named: every symbol is.

    Parts of a function that the compiler put away as hardly ever run have its written name, too: by that they are not meant.
    """
    # A large library has hundreds of thousands of symbols: few of them need taking apart.
    pieces = tuple({longest_spelt(each) for each in functions})

    def is_asked_for(symbol: str) -> bool:
        if symbol in functions or not functions:
            return True
        if not symbol.startswith("_Z") or symbol.endswith(COLD):
            return False
        return any(piece in symbol for piece in pieces) and written_name(symbol) in functions

    return is_asked_for


def longest_spelt(name: str) -> str:
    """The longest word of a written name that its symbol spells, after its length; empty: there is none."""
    word = max((word for word in _WORD.findall(name) if word not in ABBREVIATED), key=len, default="")
    return f"{len(word)}{word}" if word else ""


def written_name(symbol: str) -> str:
    """The name of a function of C++ without parameters and without what it returns; of C its symbol.

    Parameters
    ----------
    symbol : str
        ``_ZN7picture5scaleEPfi``; overloads have the same written name.

    Returns
    -------
    str
        ``picture::scale``; the symbol itself where it is none of C++, or where this machine has no runtime of C++.
    """
    demangle = _demangler()
    if demangle is None or not symbol.startswith("_Z"):
        return symbol
    whole = demangle(symbol)
    return without_parameters(whole) if whole and not symbol.startswith(SPECIAL) else whole or symbol


def without_parameters(whole: str) -> str:
    """A demangled name without parameters, qualifiers of the function, and what it returns."""
    groups, spaces = _outermost(whole)
    if not groups:
        return whole
    begin, end = groups[-1]
    if not _AFTER.match(whole, end):  # A name that goes on after its last brackets has no parameters: it is no function.
        return whole
    first = max((place + 1 for place in spaces if place < begin), default=0)
    return whole[first:begin]


def _outermost(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    """Ranges in round brackets that stand in no others, and spaces that end what a function returns."""
    groups: list[tuple[int, int]] = []
    spaces: list[int] = []
    depth, place, opened = 0, 0, 0
    while place < len(text):
        operator = _OPERATOR.match(text, place) if text.startswith("operator", place) else None
        scope = None if depth or operator else _QUALIFIED_SCOPE.match(text, place)
        letter = text[place]
        if operator and not _is_word(text, place - 1):
            # The type of a conversion, or new and delete, belong to the name as far as its parameters.
            place = operator.end() if depth or operator["sign"] else _end_of_type(text, operator.end())
            continue
        if scope:
            place = scope.end()
            continue
        if letter in OPENING:
            opened = place if not depth else opened
            depth += 1
        elif letter in CLOSING and text[place - 1 : place + 1] != "->":
            depth -= 1
            if not depth and letter == ")":
                groups.append((opened, place + 1))
        elif letter == " " and not depth:
            spaces.append(place)
        place += 1
    last = groups[-1][0] if groups else len(text)
    return groups, [each for each in spaces if each < last]


def _end_of_type(text: str, place: int) -> int:
    """Where the parameters of a conversion begin: the first round bracket that stands in no others."""
    depth = 0
    for at in range(place, len(text)):
        if text[at] == "(" and not depth:
            return at
        depth += (text[at] in OPENING) - (text[at] in CLOSING)
    return len(text)


def _is_word(text: str, place: int) -> bool:
    return place >= 0 and (text[place].isalnum() or text[place] == "_")


@cache
def _demangler() -> Callable[[str], str] | None:
    """The demangler of the C++ runtime that is here; None: there is none."""
    for name in LIBRARIES:
        try:
            return _demangler_of(ctypes.CDLL(name))
        except (OSError, AttributeError):
            continue
    return None


def _demangler_of(runtime: ctypes.CDLL) -> Callable[[str], str]:
    """What takes a symbol and returns all that it holds; empty: it is none of C++."""
    function, free = runtime.__cxa_demangle, ctypes.CDLL(None).free
    function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
    function.restype = ctypes.c_void_p
    free.argtypes, free.restype = (ctypes.c_void_p,), None
    status = ctypes.c_int()

    def demangle(symbol: str) -> str:
        made = function(symbol.encode("utf-8", "replace"), None, None, ctypes.byref(status))
        if not made:
            return ""
        try:
            return ctypes.string_at(made).decode("utf-8", "replace")
        finally:
            free(made)

    return demangle
