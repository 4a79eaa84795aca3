"""Loop nests from a subset of C: for loops with constant steps, plain statements, arrays with affine subscripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlperf.core.documents import bounded_depth, file_text
from mlperf.core.errors import DataError
from mlperf.core.extras import require
from mlperf.core.suggest import did_you_mean
from mlperf.features.source.c_loops import FunctionLoops
from mlperf.features.source.c_source import STANDARD_TYPES, preprocess
from mlperf.features.source.c_statements import STEPS, declare, polynomial_of, walk
from mlperf.features.source.c_types import Scope, declared_array
from mlperf.features.source.nest import Loop, Nest

_COORDINATES = re.compile(r":(\d+):(\d+): (.*)", re.DOTALL)


def read_c(path: Path | str, functions: Sequence[str] = ()) -> tuple[Nest, ...]:
    """One nest for every function of a C file that has loops; of the ``functions`` alone where some are named.

    Read are ``for`` loops with constant steps and unchanged bounds, perfectly nested or not, plain statements, arrays and
    pointers with affine subscripts, ``#define`` constants. Names that nothing defines are open sizes. Bodies of functions that are
    not asked for may hold anything.

    Raises
    ------
    DataError
        Anything else; names file, line and column. ``a[b[i]]``: ``subscript is not affine``.
    MissingExtraError
        pycparser is not installed.
    """
    return parse_c(file_text(path), str(path), functions)


def parse_c(text: str, path: str, functions: Sequence[str] = ()) -> tuple[Nest, ...]:
    """Read loop nests from C text as `read_c` does from a file; ``path`` is for messages."""
    with bounded_depth(path):
        return _nests(text, path, functions)


def _nests(text: str, path: str, functions: Sequence[str]) -> tuple[Nest, ...]:
    tree, scope = parsed(text, path)
    nests: list[Nest] = []
    names: list[str] = []
    for node in tree.ext:
        if type(node).__name__ != "FuncDef":
            declare(node, scope)
            continue
        names.append(node.decl.name)
        if not functions or node.decl.name in functions:
            nest = function_nest(node, scope.inner(), path)
            nests += [nest] if nest.loops else []
    if functions and not set(functions) & set(names):
        raise no_function(functions, names, path)
    if not nests:
        raise DataError("got no function with a for loop, expected at least one", place=path, hint="Give a C file with the kernel.")
    return tuple(nests)


def no_function(functions: Sequence[str], names: Sequence[str], path: str) -> DataError:
    """The error for functions that are none of the ``names`` in a file."""
    message = f"got no function {' or '.join(functions)}, expected it here"
    return DataError(message, place=path, hint=did_you_mean(functions[0], names))


def parsed(text: str, path: str) -> tuple[Any, Scope]:
    """The syntax tree of C text, and what its macros mean."""
    source = preprocess(text, path)
    prelude = "".join(f"typedef {meaning} {name};" for name, meaning in STANDARD_TYPES.items())
    parsing = require("pycparser.c_parser", "asm")
    parser, name = parsing.CParser(), Path(path).name
    try:
        tree = parser.parse(f'{prelude}\n# 1 "{name}"\n{source.text}', name)
    except parsing.ParseError as error:
        found = _COORDINATES.search(str(error))
        line = f"{found[1]}, column {found[2]}" if found else _line_reached(parser, parsing.ParseError, text)
        why, where = (found[3], "that line") if found else (str(error).removeprefix(f"{name}: "), "that line and the one before")
        raise DataError(
            f"not C that can be read: {why}", place=f"{path}, line {line}", hint=f"Check {where}; C99 is read."
        ) from error
    return tree, Scope(values=dict(source.constants))


def _line_reached(parser: Any, fault: type[Exception], text: str) -> int:
    """Line of the next word where a parser gave up without saying where, as it does of an expression that is none."""
    try:
        following = parser.clex.token()
    except fault as error:
        found = _COORDINATES.search(str(error))
        return int(found[1]) if found else len(text.splitlines())
    return len(text.splitlines()) if following is None else int(following.lineno)


def function_nest(function: Any, scope: Scope, path: str) -> Nest:
    """Loops of one function and the arrays they touch."""
    arguments = getattr(function.decl.type, "args", None)
    # Before C89 parameters were declared behind the brackets: f(a, n) float *a; int n; { ... }
    written = function.param_decls or (arguments.params if arguments else ())
    parameters = [each for each in written if type(each).__name__ in ("Decl", "Typename")]
    for parameter in parameters:
        array = declared_array(parameter, scope, lambda extent: polynomial_of(extent, scope), is_parameter=True)
        if array is not None:
            scope.arrays[parameter.name] = array
    assigned = assignments(function)
    scope.values.update({parameter.name: None for parameter in parameters if assigned[getattr(parameter, "name", None) or ""]})
    scope.places.update({name: None for name in scope.arrays if assigned[name]})
    initialised = Counter(node.name for node in walk(function.body) if type(node).__name__ == "Decl" and node.init is not None)
    reader = FunctionLoops(path, scope, assigned, initialised)
    loops = tuple(item for item in reader.items(function.body, (), frozenset()) if isinstance(item, Loop))
    source = f"{path}, function {function.decl.name}, line {function.coord.line}"
    return Nest(function.decl.name, tuple(scope.touched.values()), loops, source)


def assignments(function: Any) -> Counter[str]:
    """How often each variable is set in a function, after its declaration."""
    found: Counter[str] = Counter()
    for node in walk(function.body):
        kind = type(node).__name__
        if kind == "Assignment":
            found[getattr(node.lvalue, "name", "") if type(node.lvalue).__name__ == "ID" else ""] += 1
        elif kind == "UnaryOp" and node.op in STEPS:
            found[getattr(node.expr, "name", "") if type(node.expr).__name__ == "ID" else ""] += 1
    return found
