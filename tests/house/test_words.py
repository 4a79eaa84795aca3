"""Words of the house: files say what they are, public names are documented, texts speak of the project alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source_tree import PACKAGE, ROOT, SourceTree, planted

DOCUMENTED = 0.98
NAMES_OF_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}


def public_names(tree: SourceTree) -> Iterator[tuple[str, bool]]:
    """Public functions and classes of modules and public methods of those classes, each with whether it is documented."""
    for module, parsed in tree.trees.items():
        for node in definitions(parsed):
            yield f"{module}.{node.name}", has_words(node)
            if isinstance(node, ast.ClassDef):
                yield from ((f"{module}.{node.name}.{each.name}", has_words(each)) for each in definitions(node))


def definitions(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes directly inside."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not each.name.startswith("_"):
            yield each


def has_words(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether it has a docstring, or is the setter or overload of something that has one."""
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    return bool((ast.get_docstring(node) or "").strip()) or bool(marks & {"setter", "overload"})


def share_documented(tree: SourceTree) -> float:
    """Fraction of public names with a docstring."""
    found = [documented for _, documented in public_names(tree)]
    return sum(found) / len(found)


def test_public_names_are_documented() -> None:
    assert share_documented(PACKAGE) >= DOCUMENTED, [name for name, documented in public_names(PACKAGE) if not documented]


def test_every_file_begins_with_what_it_is() -> None:
    """The module's first line says what a reader finds here."""
    assert not [module for module, tree in PACKAGE.trees.items() if not ast.get_docstring(tree)]


def test_no_file_is_called_after_nothing() -> None:
    assert not [module for module, path in PACKAGE.paths.items() if path.stem in NAMES_OF_NOTHING]


def test_missing_words_are_seen(tmp_path: Path) -> None:
    methods = "    def f(self):\n        pass\n\n    def _g(self):\n        pass\n"
    text = f'class A:\n    """Words."""\n\n{methods}\n\ndef h():\n    """Words."""\n'
    tree = planted(tmp_path, {"core/a.py": text})
    assert dict(public_names(tree)) == {"mlperf.core.a.A": True, "mlperf.core.a.A.f": False, "mlperf.core.a.h": True}
    assert share_documented(tree) == pytest.approx(2 / 3)


# Spelled in pieces, so that this file does not contain what it looks for.
FOLDERS = tuple(f"/{folder}/" for folder in ("work", "root", "opt", "farm"))
ANYWHERE = ("/." + "library", "../" + "shared", "Not" + "ImplementedError")
UNFINISHED = tuple(f"{head}{tail}" for head, tail in (("TO", "DO"), ("FIX", "ME"), ("XX", "X")))
FORBIDDEN = re.compile(
    "|".join(
        (
            *(rf"(?<![\w.]){re.escape(each)}" for each in FOLDERS),
            *map(re.escape, ANYWHERE),
            *(rf"\b{each}\b" for each in UNFINISHED),
        )
    )
)
TEXT_ENDINGS = {".py", ".md", ".toml", ".j2", ".json", ".csv", ".cfg", ".txt", ".html", ".svg"}


def repository_texts() -> list[Path]:
    folders = ("mlperf", "tests", "docs", "examples", "benchmarks")
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in TEXT_ENDINGS]
    return inside + [path for path in ROOT.glob("*") if path.suffix in TEXT_ENDINGS]


def forbidden_lines(text: str) -> Iterator[str]:
    """Lines that say what no text may say, each with its number."""
    # Most texts hold none of the words anywhere, which is known in a thirtieth of the time.
    if any(word in text for word in (*FOLDERS, *ANYWHERE, *UNFINISHED)):
        for number, line in enumerate(text.splitlines(), start=1):
            if FORBIDDEN.search(line):
                yield f"line {number}: {line.strip()[:80]}"


def test_the_word_rule_sees_planted_words() -> None:
    for written in (
        "see /" + "work/main",
        "# TO" + "DO",
        "raise Not" + "ImplementedError",
        "../" + "shared/data",
        "of /." + "library",
    ):
        assert list(forbidden_lines(f"fine\n  {written}\n")) == [f"line 2: {written}"], written
    for each in (*FOLDERS, *ANYWHERE, *UNFINISHED):
        assert list(forbidden_lines(each)) == [f"line 1: {each}"]
    for innocent in ("network/" + "work/x", "todo list", "shared data"):
        assert not list(forbidden_lines(innocent)), innocent


def test_no_text_names_a_machine_path_or_unfinished_work() -> None:
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in repository_texts()}
    assert not [f"{path}, {line}" for path, text in texts.items() for line in forbidden_lines(text)]
