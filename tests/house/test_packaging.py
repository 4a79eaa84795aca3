"""Promises of the packaging and the documents, held against the files."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import mlperf
from mlperf.cli.framework.group import LazyGroup
from mlperf.cli.main import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    assert [len(block.strip().splitlines()) for block in blocks] == [1, 1]
    assert "'.[report,test]'" in blocks[0]
    assert blocks[0].strip().endswith("mlperf demo")
    assert "pytest" in blocks[1]


def test_the_readme_names_its_prerequisites_and_no_affiliation() -> None:
    for word in ("git", "python3", "python3-pip", "not affiliated"):
        assert word in README


def test_the_extra_test_brings_what_its_tests_need() -> None:
    brought = " ".join(PROJECT["optional-dependencies"]["test"])
    extras = set(re.search(r"mlperf-estimator\[(.*?)\]", brought)[1].split(","))
    assert {"asm", "fast", "mpi", "onnx"} <= extras <= set(PROJECT["optional-dependencies"])


def test_the_version_stands_in_one_place() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert PROJECT["dynamic"] == ["version"]
    assert tool["hatch"]["version"]["path"] == "mlperf/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+", mlperf.__version__)


@pytest.mark.parametrize("name", [name for name in mlperf.__all__ if not name.startswith("_")])
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    assert (getattr(mlperf, name).__doc__ or "").strip()


LAZY = [path for path in sorted((ROOT / "mlperf").rglob("__init__.py")) if "= exports(" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("init", LAZY, ids=lambda path: ".".join(path.parent.relative_to(ROOT).parts))
def test_type_checkers_see_the_names_that_a_room_exports(init: Path) -> None:
    """Without a stub beside it every name of the room is `Any` to them, and a wrong call of it passes."""
    room = importlib.import_module(".".join(init.parent.relative_to(ROOT).parts))
    tree = ast.parse(init.with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {
        alias.asname or alias.name: getattr(importlib.import_module(node.module), alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    listed = next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert sorted(listed) == sorted(room.__all__)
    assert {name: getattr(room, name) for name in seen} == seen
    assert set(listed) - set(seen) <= {"__version__"}


def test_no_public_name_is_that_of_a_module_beside_it() -> None:
    """Python puts a module that was imported in place of the name: whoever asks for it would get the module."""
    pattern = re.compile(r'^\s+"(\w+)": "mlperf\.[\w.:]+",$', flags=re.MULTILINE)
    hidden = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "mlperf").rglob("__init__.py"))
        for name in pattern.findall(path.read_text(encoding="utf-8"))
        if (path.parent / f"{name}.py").exists() or (path.parent / name).is_dir()
    ]
    assert hidden == []


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        mlperf.no_such_name  # noqa: B018 - the access is the test


def test_importing_the_package_is_light() -> None:
    code = "import sys, mlperf; print(sorted({'numpy', 'pandas', 'click'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def local_links(path: Path) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")) if "://" not in link]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_documents_leads_somewhere(path: Path) -> None:
    broken = [link for link in local_links(path) if not (path.parent / link).exists()]
    assert not broken


def shown_commands(text: str) -> list[list[str]]:
    """Words of every ``mlperf ...`` line that a document or a help shows."""
    whole = re.sub(r"\\\n\s*", " ", text)
    lines = re.findall(r"^\s*(?:\$ |Examples?: )?(mlperf [a-z].*?)$", whole, flags=re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines if "..." not in line]


def unknown_options(words: list[str]) -> list[str]:
    """What our command line would not accept of a shown command: unknown commands and options."""
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest:
        with click.Context(command) as ctx:
            found = command.get_command(ctx, rest[0])
        if found is None:
            return [rest[0]]
        command, rest = found, rest[1:]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"-h", "--help"}
    rest = rest[: rest.index("--")] if "--" in rest else rest
    return [word for word in rest if word.startswith("-") and word.partition("=")[0] not in known]


def helps(group: click.Group, path: str = "mlperf") -> Iterator[tuple[str, str]]:
    yield path, group.epilog or ""
    with click.Context(group) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            assert command is not None
            if isinstance(command, click.Group):
                yield from helps(command, f"{path} {name}")
            else:
                yield f"{path} {name}", command.epilog or ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_a_document_is_one_of_ours(path: Path) -> None:
    blocks = "\n".join(
        re.findall(r"^```(?:sh|console|bash)\n(.*?)^```$", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    )
    for words in shown_commands(blocks):
        assert not unknown_options(words), f"mlperf {shlex.join(words)}"


def test_every_example_in_a_help_uses_options_that_exist() -> None:
    assert isinstance(cli, LazyGroup)
    for path, epilog in helps(cli):
        for words in shown_commands(epilog):
            assert not unknown_options(words), f"help of {path}: mlperf {shlex.join(words)}"


def test_the_check_of_examples_sees_planted_mistakes() -> None:
    assert unknown_options(["predct"]) == ["predct"]
    assert unknown_options(["completion", "--no-such-option", "bash"]) == ["--no-such-option"]
    assert unknown_options(["completion", "bash"]) == []
