"""Small things: a function is one thought, a file one idea; input is never checked by ``assert``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source_tree import PACKAGE, SourceTree, planted

pytestmark = pytest.mark.slow

MOST_LINES = 60
NINE_OF_TEN = 20
MOST_FILE_LINES = 400


def body_lines(tree: SourceTree) -> dict[str, int]:
    """Lines of every function's body, its docstring left out."""
    return {
        f"{module}, line {node.lineno}, {node.name}": lines_of(node)
        for kind in (ast.FunctionDef, ast.AsyncFunctionDef)
        for module, node in tree.of(kind)
    }


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From the first statement to the last."""
    statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1 if statements else 0


def asserts(tree: SourceTree) -> Iterator[str]:
    """Places of ``assert``."""
    yield from (f"{module}, line {node.lineno}" for module, node in tree.of(ast.Assert))


def test_no_function_is_long() -> None:
    assert not {place: lines for place, lines in body_lines(PACKAGE).items() if lines > MOST_LINES}


def test_nine_of_ten_functions_are_short() -> None:
    lines = sorted(body_lines(PACKAGE).values())
    assert lines[int(0.9 * len(lines))] <= NINE_OF_TEN


def test_no_file_is_long() -> None:
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in PACKAGE.paths.items()}
    assert not {module: number for module, number in lines.items() if number > MOST_FILE_LINES}


def test_assert_is_not_used_for_input() -> None:
    assert not list(asserts(PACKAGE))


def test_planted_breaches_are_seen(tmp_path: Path) -> None:
    body = "".join(f"    x = {number}\n" for number in range(MOST_LINES + 1))
    tree = planted(
        tmp_path, {"core/a.py": f'def long():\n    """Too much."""\n{body}\n\ndef stub():\n    """Nothing."""\n    assert 1\n'}
    )
    assert sorted(body_lines(tree).values()) == [1, MOST_LINES + 1]
    assert list(asserts(tree)) == [f"mlperf.core.a, line {MOST_LINES + 8}"]
