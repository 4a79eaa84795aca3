"""Fixtures of the open data have the names by which ``-m data`` finds the files that use them."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_fixtures_that_read_the_open_data_are_the_ones_that_collection_looks_for():
    """Beside test files; in those their users are near."""
    shared = [path for path in TESTS.rglob("*.py") if not path.name.startswith("test_")]
    found = {"shared_data"}
    for path in shared:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and found & {argument.arg for argument in node.args.args}:
                found.add(node.name)
    assert found == set(_open_data())


def _open_data() -> tuple[str, ...]:
    for node in ast.parse((TESTS / "conftest.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "OPEN_DATA":
            return tuple(ast.literal_eval(node.value))
    raise AssertionError("tests/conftest.py has no OPEN_DATA")
