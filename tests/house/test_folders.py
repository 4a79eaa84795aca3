"""Inside a room, folders import only the folders before them; a folder lists at most twenty modules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .source_tree import PACKAGE, SourceTree, planted

FOLDERS = {
    "cli": ("framework", ".", "traces", "recordings", "commands"),
    "collect": (
        "cnn_engine",
        "protocol",
        "backends",
        "campaign",
        "counters",
        "contraction",
        "stream",
        "trainer",
        "canonical",
        "loggps",
        "servers",
        "synchronous",
    ),
    "collect/trainer": (".", "learning", "rank"),
    "datasets": ("dictionary", "reading", "open", "campaigns", "joining", "catalogue", "streams"),
    "features": ("network", "code", "counters", "source", ".", "network_engine", "streams"),
    "features/code": ("processors", "."),
    "models": (".", "formula", "algebra", "online", "selection", "storage", "uncertainty", "validation", "inference", "estimators"),
    "models/estimators": (".", "members", "learning", "local", "stepwise", "choice"),
    "planning": (".", "search", "partition", "systems", "whole_run", "calibration", "advice"),
    "planning/advice": ("facts", "."),
    "report": ("text", "figures", "pages", "systems", "traces", "recordings", "paper"),
    "report/recordings": ("page", "."),
    "specs": ("network", ".", "importers", "kernels", "zoo"),
    "specs/importers": (".", "onnx", "torch"),
    "studies": (
        ".",
        "kernels",
        "open_data",
        "trainer",
        "judgement",
        "paper",
        "parallel",
        "message_passing",
        "planted_faults",
        "case_studies",
        "torch_faults",
    ),
    "studies/kernels": ("tables", "."),
    "studies/open_data": ("scoring", "."),
    "systems": ("base", "coupling", "sprint", "parameter_server", "data_parallel", "model_parallel", "loggps", "loader", "."),
    "traces": (
        "events",
        "clocks",
        "readers",
        "writers",
        "graph",
        "replay",
        "whatif",
        "timeline",
        "swarms",
        "links",
        "ranks",
        "recording",
        "sources",
        "whole_run",
        "runs",
        ".",
    ),
    "traces/ranks": (".", "profiled"),
    "traces/readers": (".", "chrome", "system"),
    "training": ("fits", "table", "collectives", "characteristics", "gradient", "components", ".", "quality", "systems"),
}
"""Folders of each folder that has some, from the ground up; ``"."`` are its own files."""
MOST_MODULES = 20


def part_of(tree: SourceTree, folder: str, module: str) -> str:
    """The part of ``folder`` that a module lies in; empty for other modules and for the folder's ``__init__``."""
    path, start = tree.paths[module], tree.package / folder
    if start not in path.parents or path == start / "__init__.py":
        return ""
    return path.relative_to(start).parts[0] if path.parent != start else "."


def upward_imports(tree: SourceTree, folders: dict[str, tuple[str, ...]]) -> list[str]:
    """Imports of a part that stands behind the importer's own."""
    found = []
    for folder, parts in folders.items():
        part = {module: part_of(tree, folder, module) for module in tree.paths}
        for each in tree.imports:
            own, other = part[each.importer], part.get(each.imported)
            if own and other and parts.index(other) > parts.index(own):
                found.append(f"{folder}: {each}")
    return sorted(found)


def parts_by_folder(package: Path) -> dict[str, set[str]]:
    """Parts of every folder that has folders; the package itself is left to the order of rooms."""
    found = {}
    for folder in sorted(path.parent for path in package.rglob("__init__.py") if path.parent != package):
        inside = {path.parent.name for path in folder.glob("*/__init__.py")}
        files = {"."} if [path for path in folder.glob("*.py") if path.name != "__init__.py"] else set()
        if inside:
            found[folder.relative_to(package).as_posix()] = inside | files
    return found


def modules_by_folder(package: Path) -> dict[str, int]:
    """Number of modules flat in each folder."""
    files = [path for path in package.rglob("*.py") if path.name != "__init__.py"]
    return Counter(path.parent.relative_to(package).as_posix() for path in files)


def test_every_folder_has_its_place() -> None:
    found = parts_by_folder(PACKAGE.package)
    assert {folder: sorted(parts) for folder, parts in found.items()} == {name: sorted(parts) for name, parts in FOLDERS.items()}


def test_folders_import_only_folders_before_them() -> None:
    assert not upward_imports(PACKAGE, FOLDERS)


def test_folders_list_at_most_twenty_modules() -> None:
    assert not {folder: number for folder, number in modules_by_folder(PACKAGE.package).items() if number > MOST_MODULES}


@pytest.mark.parametrize("text", ["from mlperf.models.high.b import c\n", "def f():\n    from mlperf.models import c\n"])
def test_a_planted_breach_is_seen(text: str, tmp_path: Path) -> None:
    table = (
        'from mlperf.core.lazy import exports\n__getattr__, __dir__, __all__ = exports(__name__, {"c": "mlperf.models.high.b"})\n'
    )
    tree = planted(
        tmp_path, {"models/__init__.py": table, "models/low/a.py": text, "models/high/b.py": "c = 1\n", "models/d.py": ""}
    )
    assert parts_by_folder(tree.package) == {"models": {"low", "high", "."}}
    assert len(upward_imports(tree, {"models": ("low", ".", "high")})) == 1
    assert not upward_imports(tree, {"models": ("high", ".", "low")})


def test_a_full_folder_is_seen(tmp_path: Path) -> None:
    tree = planted(tmp_path, {f"core/m{number}.py": "" for number in range(21)})
    assert modules_by_folder(tree.package)["core"] == MOST_MODULES + 1
