"""The tests' tree is the package's: ``tests/models/formula/test_terms.py`` tests ``mlperf/models/formula/terms.py``."""

from __future__ import annotations

from pathlib import Path

from .source_tree import ROOT, planted

UNTESTED = Path(__file__).with_name("untested.txt")
"""Modules without a file of tests of their own; a module leaves the list with its first test, and none joins it."""
AT_MOST = 212
ELSEWHERE = ("house", "acceptance", "fuzzing")
"""Folders of tests that are about the package as a whole."""


def modules(package: Path) -> set[str]:
    """Paths of the modules, ``__init__`` left out."""
    return {path.relative_to(package).as_posix() for path in package.rglob("*.py") if path.name != "__init__.py"}


def mirrored_modules(tests: Path) -> set[str]:
    """Paths of the modules that the files of tests are at the mirror path of."""
    files = {path.relative_to(tests) for path in tests.rglob("test_*.py")}
    return {path.with_name(path.name.removeprefix("test_")).as_posix() for path in files if path.parts[0] not in ELSEWHERE}


def untested() -> list[str]:
    return UNTESTED.read_text(encoding="utf-8").split()


def test_every_file_of_tests_is_at_the_place_of_its_module() -> None:
    strays = sorted(mirrored_modules(ROOT / "tests") - modules(ROOT / "mlperf"))
    assert not strays


def test_every_module_has_a_file_of_tests() -> None:
    """Or stands in the list."""
    missing = sorted(modules(ROOT / "mlperf") - mirrored_modules(ROOT / "tests") - set(untested()))
    assert not missing


def test_the_list_of_unmirrored_modules_only_shrinks() -> None:
    listed = untested()
    have_tests = sorted(set(listed) & mirrored_modules(ROOT / "tests"))
    assert not have_tests, "take them from the list"
    gone = sorted(set(listed) - modules(ROOT / "mlperf"))
    assert not gone, "take them from the list"
    assert listed == sorted(set(listed))
    assert len(listed) <= AT_MOST, "write a test instead"


def test_a_module_without_tests_is_seen(tmp_path: Path) -> None:
    tree = planted(tmp_path, {"core/a.py": "", "core/b.py": ""})
    for name in ("core/test_b.py", "core/test_gone.py", "house/test_c.py"):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).write_text("", encoding="utf-8")
    assert modules(tree.package) - mirrored_modules(tmp_path / "tests") == {"core/a.py"}
    assert mirrored_modules(tmp_path / "tests") - modules(tree.package) == {"core/gone.py"}
