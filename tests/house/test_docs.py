"""Templates in the documents are short, are Python, and name what exists."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STRUCTURE = (ROOT / "docs" / "structure.md").read_text(encoding="utf-8")
MAX_RECIPE_LINES = 40


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", STRUCTURE, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.strip().splitlines()[0][:40])
def test_a_template_is_python_and_short(block: str) -> None:
    assert ast.parse(block).body
    assert len(block.splitlines()) <= MAX_RECIPE_LINES


def test_the_table_names_files_and_registries_that_exist() -> None:
    table = STRUCTURE[STRUCTURE.index("## Where does new code go") : STRUCTURE.index("### A network")]
    for path in re.findall(r"`(mlperf/[a-z_/]+\.py)`", table):
        assert (ROOT / path).is_file(), path
    for name, path in re.findall(r"`([A-Z_]+)` in `(mlperf/[a-z_/]+\.py)`", table):
        assert re.search(rf"^{name}\b", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE), f"{name} in {path}"
    anchors = set(re.findall(r"\(#([a-z-]+)\)", table))
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^### (.+)$", STRUCTURE, flags=re.MULTILINE)}
    assert anchors <= headings


def test_the_template_network_and_machine_are_read(tmp_path: Path) -> None:
    from mlperf.specs import read_cnn, read_machine

    network, machine = blocks("toml")
    (tmp_path / "small.toml").write_text(network, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(machine, encoding="utf-8")
    cnn = read_cnn(tmp_path / "small.toml")
    assert cnn.n_params == 16 * (9 * 3 + 1) + 10 * (16 * 32 * 32 + 1)
    assert read_machine(tmp_path / "mine.toml").n_gpus_per_node == tomllib.loads(machine)["n_gpus_per_node"]


def test_every_room_is_in_the_table_of_rooms() -> None:
    rooms = {path.parent.name for path in (ROOT / "mlperf").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `mlperf/([a-z]+)`", STRUCTURE, flags=re.MULTILINE))
