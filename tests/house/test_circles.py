"""No file imports itself through others."""

from __future__ import annotations

from pathlib import Path

from .source_tree import PACKAGE, SourceTree, planted


def one_circle(tree: SourceTree) -> list[str]:
    """Modules of one circle, each importing the next; empty where there is none."""
    imported: dict[str, set[str]] = {module: set() for module in tree.paths}
    for each in tree.imports:
        imported[each.importer].add(each.imported)
    # A module all of whose imports are gone lies on no circle: take such modules away until none is left.
    while ends := [module for module, others in imported.items() if not others & imported.keys()]:
        for module in ends:
            del imported[module]
    if not imported:
        return []
    path = [min(imported)]
    while path[-1] not in path[:-1]:
        path.append(min(imported[path[-1]] & imported.keys()))
    return path[path.index(path[-1]) :]


def test_no_file_lies_on_a_circle_of_imports() -> None:
    assert not one_circle(PACKAGE)


def test_a_planted_circle_is_seen(tmp_path: Path) -> None:
    files = {
        "core/a.py": "from mlperf.core.b import x\n",
        "core/b.py": "def f():\n    from mlperf.core import c\n",
        "core/c.py": "if TYPE_CHECKING:\n    from mlperf.core.a import y\n",
        "core/d.py": "from mlperf.core.a import z\n",
    }
    assert one_circle(planted(tmp_path, files)) == ["mlperf.core.a", "mlperf.core.b", "mlperf.core.c", "mlperf.core.a"]


def test_a_chain_is_no_circle(tmp_path: Path) -> None:
    files = {"core/a.py": "from mlperf.core.b import x\n", "core/b.py": "from mlperf.core import c\n", "core/c.py": ""}
    assert one_circle(planted(tmp_path, files)) == []
