"""Homes written as text lead somewhere: ``"module:name"``, tables of ``exports``, names of modules in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .source_tree import PACKAGE, ROOT, SourceTree, planted

TARGET = re.compile(r"mlperf(?:\.\w+)*:\w+|mlperf(?:\.\w+)+")
QUOTED = re.compile(r"`(?:~)?(mlperf(?:\.\w+)+)(?:\(\))?`")
WORDS = ("*.md", "docs/**/*.md", "examples/**/*.md")


def resolves(tree: SourceTree, target: str) -> bool:
    """Whether ``"module:name"``, a module's name, or a module's name and one of its names exist."""
    module, colon, name = target.partition(":")
    if colon:
        return tree.defines(module, name)
    parent, _, last = target.rpartition(".")
    if target in tree.paths or parent in tree.paths:
        return target in tree.paths or tree.defines(parent, last)
    return tree.defines(*parent.rpartition(".")[::2])


def broken_strings(tree: SourceTree) -> Iterator[str]:
    """String constants of the form of a home that lead nowhere."""
    for module, node in tree.of(ast.Constant):
        if isinstance(node.value, str) and TARGET.fullmatch(node.value) and not resolves(tree, node.value):
            yield f"{module}, line {node.lineno}: {node.value}"


def broken_exports(tree: SourceTree) -> Iterator[str]:
    """Exported names that their home does not define."""
    for package, homes in tree.exports.items():
        for name, home in homes.items():
            module, _, own = home.partition(":")
            if not tree.defines(module, own or name):
                yield f"{package}: {name} in {home}"


def broken_words(tree: SourceTree, texts: dict[str, str]) -> Iterator[str]:
    """Modules and names quoted in backticks that do not exist."""
    for place, text in texts.items():
        for target in QUOTED.findall(text):
            if not resolves(tree, target):
                yield f"{place}: {target}"


def test_every_home_in_a_string_exists() -> None:
    assert not list(broken_strings(PACKAGE))


def test_every_exported_name_is_at_home() -> None:
    assert not list(broken_exports(PACKAGE))


def test_every_module_that_words_quote_exists() -> None:
    documents = {path for pattern in WORDS for path in ROOT.glob(pattern)}
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in (*PACKAGE.paths.values(), *documents)}
    assert not list(broken_words(PACKAGE, texts))


def test_planted_breaches_are_seen(tmp_path: Path) -> None:
    table = '__getattr__, __dir__, __all__ = exports(__name__, {"a": "mlperf.core.a", "gone": "mlperf.core.a"})\n'
    right = '("mlperf.core.a:a", "mlperf.core:a", "mlperf.core.a", "mlperf.core.a.a.b", "mlperf-model", "lo:hi")'
    strings = f'RIGHT = {right}\nWRONG = ("mlperf.core.a:b", "mlperf.a")\n'
    tree = planted(tmp_path, {"core/__init__.py": table, "core/a.py": "a = 1\n", "cli/main.py": strings})
    assert list(broken_exports(tree)) == ["mlperf.core: gone in mlperf.core.a"]
    assert list(broken_strings(tree)) == ["mlperf.cli.main, line 2: mlperf.core.a:b", "mlperf.cli.main, line 2: mlperf.a"]
    assert list(broken_words(tree, {"page": "see `mlperf.core.a.a` and `mlperf.core.b`"})) == ["page: mlperf.core.b"]
