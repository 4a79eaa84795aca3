"""Rooms import only the rooms below them: the picture of the house, held against every import."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from .source_tree import PACKAGE, Import, SourceTree, planted

pytestmark = pytest.mark.slow

ROOMS = (
    {"core"},
    {"specs", "models", "systems"},
    {"datasets"},
    {"features", "collect", "traces"},
    {"training", "forecast"},
    {"planning"},
    {"studies"},
    {"report"},
    {"cli"},
)
"""From the ground up; rooms of one row do not import one another."""
LEVELS = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
HEAVY = {"numpy", "scipy", "pandas", "sklearn", "statsmodels", "joblib", "matplotlib", "rich", "torch"}


def room_of(module: str) -> str:
    """``"specs"`` of ``"mlperf.specs.network.cnn"``; empty for ``mlperf`` itself and ``python -m mlperf``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else ""


def imports_and_exports(tree: SourceTree) -> list[Import]:
    """Imports, and homes of lazily exported names: handing a name on needs the room where it is."""
    handed_on = [Import(package, home, 0) for package, homes in tree.exports.items() for home in homes.values()]
    return [*tree.imports, *handed_on]


def upward_imports(tree: SourceTree) -> list[str]:
    """Imports of a room that is neither the importer's own nor below it."""
    found = []
    for each in imports_and_exports(tree):
        own, other = room_of(each.importer), room_of(each.imported)
        if own and other and own != other and LEVELS[other] >= LEVELS[own]:
            found.append(str(each))
    return sorted(found)


def whole_imports(tree: SourceTree) -> list[str]:
    """Files of rooms below the top that ``import mlperf``, behind which any room may hide."""
    return [
        module
        for module, node in tree.of(ast.Import)
        if room_of(module) != "cli" and any(alias.name == "mlperf" for alias in node.names)
    ]


def test_rooms_import_only_rooms_below_them() -> None:
    assert not upward_imports(PACKAGE)
    assert not whole_imports(PACKAGE)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("models/formula.py", "from mlperf.features.sgemm import columns\n"),
        ("models/formula.py", "def f():\n    import mlperf.systems.locks\n"),
        ("models/formula.py", "if TYPE_CHECKING:\n    from mlperf.specs import CnnSpec\n"),
        ("core/files.py", "from mlperf.specs import CnnSpec\n"),
        ("core/files.py", "from mlperf import specs\n"),
        ("datasets/__init__.py", '__getattr__, __dir__, __all__ = exports(__name__, {"train": "mlperf.training.model"})\n'),
        ("training/fit.py", "from ..planning.predict import predict_epoch\n"),
    ],
)
def test_a_planted_breach_is_seen(name: str, text: str, tmp_path: Path) -> None:
    others = ("features/sgemm.py", "systems/locks.py", "specs/cnn.py", "training/model.py", "planning/predict.py")
    tree = planted(tmp_path, dict.fromkeys(others, "") | {name: text})
    assert len(upward_imports(tree)) == 1


def test_an_import_of_everything_is_seen(tmp_path: Path) -> None:
    assert whole_imports(planted(tmp_path, {"core/a.py": "def f():\n    import mlperf\n"})) == ["mlperf.core.a"]


def test_what_points_down_is_no_breach(tmp_path: Path) -> None:
    files = {
        "core/files.py": "",
        "specs/cnn.py": "from mlperf.core.files import read\n",
        "cli/main.py": "from mlperf import specs, __version__\n",
    }
    assert upward_imports(planted(tmp_path, files)) == []


def test_every_room_has_its_place_and_imports() -> None:
    assert {room_of(module) for module in PACKAGE.paths} - {""} == set(LEVELS)
    for room in LEVELS:
        assert import_module(f"mlperf.{room}").__path__


def top_level_imports(tree: ast.Module) -> set[str]:
    """Packages that importing the file imports; blocks under TYPE_CHECKING and functions are left out."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


ABOUT_ARRAYS = {"mlperf.core.arrays", "mlperf.core.json_fields"}
LIGHT = [module for module in PACKAGE.paths if room_of(module) in {"cli", "core", ""} and module not in ABOUT_ARRAYS]


def test_the_command_line_and_the_core_start_light() -> None:
    assert not [module for module in LIGHT if top_level_imports(PACKAGE.trees[module]) & HEAVY]


def test_a_heavy_start_is_seen() -> None:
    assert top_level_imports(ast.parse("import numpy as np\nfrom pandas import DataFrame\n")) == {"numpy", "pandas"}
    assert top_level_imports(ast.parse("def f():\n    import numpy\n")) == set()
