"""The import rule, the size rule and the word rule of the house, read from the source text."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "mlperf"
SOURCES = sorted(PACKAGE.rglob("*.py"))
IDS = [str(path.relative_to(ROOT)) for path in SOURCES]

LAYERS = (
    {"core"},
    {"specs"},
    {"datasets"},
    {"features", "models", "traces", "collect"},
    {"systems"},
    {"report"},
    {"cli"},
)
MAX_LINES = 400

every_source = pytest.mark.parametrize("path", SOURCES, ids=IDS)


def room_of(module: str) -> str:
    """``"specs"`` of ``"mlperf.specs.network.cnn"``; empty for ``mlperf`` itself and ``python -m mlperf``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else ""


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> set[str]:
    """Every module of ours that a file imports, relative imports resolved, imports inside functions included."""
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "mlperf"}


def level(room: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


def forbidden_imports(importer: str, imported: set[str]) -> list[str]:
    """Modules of a room that is neither the importer's own nor below it."""
    own = room_of(importer)
    rooms = {name: room_of(name) for name in imported}
    known = set().union(*LAYERS)
    return sorted(name for name, room in rooms.items() if room in known and room != own and level(room) >= level(own))


@every_source
def test_a_file_imports_only_rooms_below_its_own(path: Path) -> None:
    module = module_of(path)
    if not room_of(module):
        return
    wrong = forbidden_imports(module, imported_modules(path))
    assert not wrong, f"{module} imports {wrong}"


def test_the_rule_sees_a_planted_breach() -> None:
    assert forbidden_imports("mlperf.models.formula.terms", {"mlperf.features.network.sgemm"}) == ["mlperf.features.network.sgemm"]
    assert forbidden_imports("mlperf.core.files", {"mlperf.specs"}) == ["mlperf.specs"]
    assert forbidden_imports("mlperf.planning.predict", {"mlperf.report.text.tables", "mlperf.models"}) == [
        "mlperf.report.text.tables"
    ]
    assert forbidden_imports("mlperf.cli.main", {"mlperf.systems", "mlperf.core"}) == []


@every_source
def test_every_file_lies_in_a_known_room_and_stays_small(path: Path) -> None:
    room = room_of(module_of(path))
    assert not room or room in set().union(*LAYERS)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@every_source
def test_every_file_begins_with_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module's first line says what a reader finds here"


@pytest.mark.parametrize("room", sorted(set().union(*LAYERS)))
def test_every_room_is_a_package_that_imports(room: str) -> None:
    assert import_module(f"mlperf.{room}").__path__


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_no_file_is_called_after_nothing(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "misc"}


# Spelled in pieces, so that this file does not contain what it looks for.
FORBIDDEN = re.compile(
    "|".join(
        (
            *(rf"(?<![\w.])/{folder}/" for folder in ("work", "root", "opt", "farm")),
            r"/\." + "library",
            r"\.\./" + "shared",
            "Not" + "ImplementedError",
            *(rf"\b{head}{tail}\b" for head, tail in (("TO", "DO"), ("FIX", "ME"), ("XX", "X"))),
        )
    )
)
TEXT_ENDINGS = {".py", ".md", ".toml", ".j2", ".json", ".csv", ".cfg", ".txt", ".html", ".svg"}


def repository_texts() -> list[Path]:
    folders = ("mlperf", "tests", "docs", "examples", "benchmarks")
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in TEXT_ENDINGS]
    return inside + [path for path in ROOT.glob("*") if path.suffix in TEXT_ENDINGS]


def test_the_word_rule_sees_planted_words() -> None:
    for planted in ("see /" + "work/main", "# TO" + "DO", "raise Not" + "ImplementedError", "../" + "shared/data"):
        assert FORBIDDEN.search(planted), planted
    for innocent in ("network/" + "work/x", "todo list", "shared data"):
        assert not FORBIDDEN.search(innocent), innocent


def test_no_text_names_a_machine_path_or_unfinished_work() -> None:
    found = []
    for path in repository_texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}, line {number}: {line.strip()[:80]}")
    assert not found


@every_source
def test_assert_is_not_used_for_input(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]


HEAVY = {"numpy", "scipy", "pandas", "sklearn", "statsmodels", "joblib", "matplotlib", "rich", "torch"}


def module_level_imports(path: Path) -> set[str]:
    """Top-level packages that importing the file imports (blocks under TYPE_CHECKING and functions left out)."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", [path for path in SOURCES if room_of(module_of(path)) in {"cli", "core", ""}], ids=str)
def test_the_command_line_and_the_core_start_light(path: Path) -> None:
    if path.name != "arrays.py":
        assert not module_level_imports(path) & HEAVY
