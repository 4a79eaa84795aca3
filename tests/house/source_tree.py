"""The package as text: its modules, what each imports and which names each defines. Nothing is executed."""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

Node = TypeVar("Node", bound=ast.AST)
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Import:
    """One import: who, of which module, in which line."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}, line {self.line}, imports {self.imported}"


class SourceTree:
    """A package's files, each parsed once.

    Imports inside functions and under ``TYPE_CHECKING`` count. ``from package import name`` counts as an import of the module
    where the name is at home: through the package's table of ``exports``, through its own imports, or a module of that name.
    """

    def __init__(self, package: Path) -> None:
        self.package = package
        self.paths = {self._module(path): path for path in sorted(package.rglob("*.py"))}

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """The parsed files by module; collecting tests parses none."""
        # Looking for garbage among a million nodes that all stay takes three times as long as parsing them.
        gc.disable()
        try:
            return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in self.paths.items()}
        finally:
            gc.enable()

    @cached_property
    def nodes(self) -> dict[type[ast.AST], list[tuple[str, ast.AST]]]:
        """Every node with its module, by kind, those of a module in the order of `ast.walk`: a million are walked once."""
        found: dict[type[ast.AST], list[tuple[str, ast.AST]]] = defaultdict(list)
        gc.disable()
        try:
            for module, tree in self.trees.items():
                for node in ast.walk(tree):
                    found[type(node)].append((module, node))
        finally:
            gc.enable()
        return found

    def of(self, kind: type[Node]) -> list[tuple[str, Node]]:
        """Nodes of a kind, each with its module."""
        return cast("list[tuple[str, Node]]", self.nodes.get(kind, []))

    def _module(self, path: Path) -> str:
        parts = path.relative_to(self.package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def is_package(self, module: str) -> bool:
        return self.paths[module].name == "__init__.py"

    @cached_property
    def exports(self) -> dict[str, dict[str, str]]:
        """Tables of lazily exported names: package to name to home."""
        return {
            module: ast.literal_eval(node.args[1])
            for module, node in self.of(ast.Call)
            if isinstance(node.func, ast.Name) and node.func.id == "exports"
        }

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import of a module of this package by another."""
        return tuple(found for found in self._all_imports() if found.imported != found.importer)

    def _all_imports(self) -> Iterator[Import]:
        for module, node in self.of(ast.Import):
            for alias in node.names:
                if self._is_ours(alias.name):
                    yield Import(module, self.home(alias.name, ""), node.lineno)
        for module, origin in self.of(ast.ImportFrom):
            if self._is_ours(name := self._origin(module, origin)):
                for alias in origin.names:
                    yield Import(module, self.home(name, alias.name), origin.lineno)

    def _is_ours(self, name: str) -> bool:
        return name.split(".")[0] == self.package.name

    def _origin(self, module: str, node: ast.ImportFrom) -> str:
        """The package or module behind ``from``, relative ones resolved."""
        if not node.level:
            return node.module or ""
        levels = node.level - self.is_package(module)
        base = module.split(".")[: len(module.split(".")) - levels]
        return ".".join([*base, *([node.module] if node.module else [])])

    def home(self, origin: str, name: str) -> str:
        """The module that an import of ``name`` from ``origin`` really needs."""
        seen = set()
        while (origin, name) not in seen:
            seen.add((origin, name))
            if f"{origin}.{name}" in self.paths:
                return f"{origin}.{name}"
            origin = self._passed_on.get(origin, {}).get(name, origin)
        return origin

    @cached_property
    def _passed_on(self) -> dict[str, dict[str, str]]:
        """Names that a package hands on from elsewhere, with their origin."""
        found: dict[str, dict[str, str]] = {}
        for module, tree in self.trees.items():
            if self.is_package(module):
                names = {
                    alias.asname or alias.name: node.module
                    for node in tree.body
                    if isinstance(node, ast.ImportFrom) and not node.level and node.module and self._is_ours(node.module)
                    for alias in node.names
                }
                found[module] = names | self.exports.get(module, {})
        return found

    def defines(self, module: str, name: str) -> bool:
        """Whether importing ``name`` from ``module`` would work."""
        if module not in self.paths:
            return False
        home = self.home(module, name)
        return home in self.paths and (home == f"{module}.{name}" or name in self._names[home])

    @cached_property
    def _names(self) -> dict[str, set[str]]:
        return {module: set(top_level_names(tree)) for module, tree in self.trees.items()}


def top_level_names(tree: ast.Module) -> Iterator[str]:
    """Names that a module's text binds, inside ``if`` and ``try`` too."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        else:
            todo.extend(ast.iter_child_nodes(node))


PACKAGE = SourceTree(ROOT / "mlperf")


def planted(folder: Path, files: dict[str, str]) -> SourceTree:
    """A small package ``mlperf`` with these files, every folder of it a package."""
    for name, text in files.items():
        path = folder / "mlperf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (folder / "mlperf", *(folder / "mlperf").rglob("*")):
        if path.is_dir() and not (path / "__init__.py").exists():
            (path / "__init__.py").write_text("", encoding="utf-8")
    return SourceTree(folder / "mlperf")
