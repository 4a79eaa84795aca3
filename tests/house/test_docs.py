"""Templates in the documents are short, run as they are printed, and name what exists; so does the example of the README."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "docs" / "how-to" / "new_code.md").read_text(encoding="utf-8")
STRUCTURE = (ROOT / "docs" / "explanation" / "structure.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAX_RECIPE_LINES = 40
Made = Callable[[str, str], ModuleType]
PLACES = re.compile(r"`((?:mlperf|tests|docs|examples|benchmarks)/[A-Za-z_/]+(?:\.py|\.md|\.toml|/))`")


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def recipe(heading: str) -> str:
    """The text under one heading of the recipes."""
    return re.split(r"^### ", RECIPES[RECIPES.index(f"### {heading}\n") + 4 :], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("block", blocks("python", RECIPES), ids=lambda block: block.strip().splitlines()[0][:40])
def test_a_template_is_python_and_short(block: str) -> None:
    assert ast.parse(block).body
    assert len(block.splitlines()) <= MAX_RECIPE_LINES


@pytest.mark.parametrize("text", [RECIPES, STRUCTURE, CONTRIBUTING], ids=["recipes", "structure", "contributing"])
def test_every_file_and_folder_that_is_named_exists(text: str) -> None:
    places = PLACES.findall(text)
    assert places
    assert [place for place in places if not (ROOT / place).exists() and "NAME" not in place] == []


@pytest.mark.parametrize("text", [RECIPES, STRUCTURE, CONTRIBUTING], ids=["recipes", "structure", "contributing"])
def test_every_name_in_a_file_is_there(text: str) -> None:
    for name, path in re.findall(r"`([A-Za-z_]+)(?:\(\))?` in `((?:mlperf|tests)/[A-Za-z_/]+\.py)`", text):
        found = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *(?:def |class )?{name}\b", found, flags=re.MULTILINE), f"{name} in {path}"


def test_every_kind_of_new_code_has_its_recipe() -> None:
    table = RECIPES[RECIPES.index("## Where does new code go") : RECIPES.index("### A network")]
    anchors = set(re.findall(r"\(#([a-z-]+)\)", table))
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^### (.+)$", RECIPES, flags=re.MULTILINE)}
    assert anchors == headings


def test_every_room_and_every_folder_is_in_the_floor_plan() -> None:
    rooms = {path.parent.name for path in (ROOT / "mlperf").glob("*/__init__.py")}
    rows = dict(re.findall(r"^\| `mlperf/([a-z]+)`(.*)$", STRUCTURE, flags=re.MULTILINE))
    assert rooms == set(rows)
    for room, row in rows.items():
        folders = {path.parent.name for path in (ROOT / "mlperf" / room).glob("*/__init__.py")}
        assert folders == set(re.findall(r"`([a-z_]+)/`", row)), room


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ModuleType]:
    """A function that imports the Python blocks under a heading as the module ``template``, after the given imports."""

    def make(heading: str, imports: str) -> ModuleType:
        source = "from __future__ import annotations\n" + imports + "\n\n".join(blocks("python", recipe(heading)))
        (tmp_path / "template.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "template", raising=False)
        return importlib.import_module("template")

    return make


def test_the_template_network_and_machine_are_read(tmp_path: Path) -> None:
    from mlperf.specs import read_cnn, read_machine

    network, machine = blocks("toml", RECIPES)
    (tmp_path / "small.toml").write_text(network, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(machine, encoding="utf-8")
    cnn = read_cnn(tmp_path / "small.toml")
    assert cnn.n_params == 16 * (9 * 3 + 1) + 10 * (16 * 32 * 32 + 1)
    assert read_machine(tmp_path / "mine.toml").n_gpus_per_node == tomllib.loads(machine)["n_gpus_per_node"]


READER = """
from collections.abc import Sequence
from pathlib import Path
import pandas as pd
from mlperf.datasets import Column, TableSchema, read_table, write_table
from mlperf.datasets.campaigns.gpu_campaign import Imported, check_empty
"""


def test_the_template_reader_writes_a_campaign(made: Made, tmp_path: Path) -> None:
    from mlperf.core.errors import DataError
    from mlperf.datasets import read_campaign

    template = made("A reader", READER)
    (tmp_path / "seed1").mkdir()
    foreign = tmp_path / "seed1" / "products.csv"
    foreign.write_text("m,n,k,ms\n8,16,32,0.25\n64,64,64,1.5\n", encoding="utf-8")
    assert template.import_products([foreign.parent], tmp_path / "campaign").n_rows == {"sgemm": 2}
    assert read_campaign(tmp_path / "campaign").tables["sgemm"]["cpu_s"].tolist() == [0.00025, 0.0015]
    foreign.write_text("m,n,k,ms\n8,16,32,-0.25\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2, column ms"):
        template.import_products([foreign.parent], tmp_path / "other")


FEATURES = """
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
import pandas as pd
from mlperf.features import FeatureColumn, FeatureTable
from mlperf.features.network.base import KEY
from mlperf.studies.kernels.feature_sets import FeatureSet
"""


def test_the_template_feature_set_describes_kernels(made: Made, tmp_path: Path) -> None:
    from mlperf.features import write_features

    source = tmp_path / "axpy.c"
    source.write_text("// y += a x\n\nfor (i = 0; i < n; i++)\n  y[i] += a * x[i];\n", encoding="utf-8")
    table = made("A feature set", FEATURES).text_features([source])
    assert table.to_frame().to_dict("records") == [{"kernel": "axpy", "n_lines": 2, "n_loops": 1}]
    assert all(path.is_file() for path in write_features(table, tmp_path / "text.csv"))


ESTIMATOR = """
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.json_fields import Fields
from mlperf.models import Domain
"""


def test_the_template_estimator_keeps_the_contract_and_is_stored(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    from mlperf.models.storage import store

    template = made("An estimator", ESTIMATOR)
    ridge = template.RidgeOLS
    ridge.to_dict, ridge.from_dict = template.to_dict, classmethod(template.from_dict)
    failed = [each["check_name"] for each in check_estimator(ridge(), on_skip=None, on_fail=None) if each["status"] == "failed"]
    assert failed == []
    monkeypatch.setitem(store.KINDS, "ridge", "template:RidgeOLS")
    X = np.random.default_rng(0).random((30, 3))
    model = ridge().fit(X, X @ [1.0, 2.0, 3.0] + 4.0)
    again = store.model_from_json(store.model_to_json(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.in_domain([X.mean(axis=0), [9.0, 9.0, 9.0]]).tolist() == [True, False]


def test_the_guides_system_agrees_with_drawn_times(tmp_path: Path) -> None:
    """Two nodes, four steps of 1 s +- 0.1 s: the slower of two normal sums is std / sqrt(pi) late on average."""
    guide = (ROOT / "docs" / "how-to" / "own_system.md").read_text(encoding="utf-8")
    path = tmp_path / "local_sgd.py"
    path.write_text(blocks("python", guide)[0], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("local_sgd", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run = {"n_nodes": np.array([1, 2]), "n_gpus_per_node": 1, "subbatch_size": 4, "dataset_size": 800, "local_steps": 4.0}
    run |= {"gradient_bytes": 1e6, "latency_s": 0.0, "bandwidth_bytes_per_s": 4e6}
    found = module.LOCAL_SGD.solve({"forward": 0.25, "backward": 0.75, "backward_std": 0.1}, run)
    parts = found.breakdown_s["round"]
    assert found.outputs["round_s"][0] == pytest.approx(4.0)
    draws = np.random.default_rng(1).normal(1.0, 0.1, size=(20_000, 2, 4)).sum(axis=2).max(axis=1)
    assert parts["straggler"][1] == pytest.approx(draws.mean() - 4.0, abs=4 * draws.std() / np.sqrt(20_000))
    assert parts["exchange"] == pytest.approx([0.0, 0.25])
    assert found.outputs["epoch_s"] == pytest.approx([50 * 4.0, 25 * found.outputs["round_s"][1]])


VIEW_AND_COMMAND = """
from pathlib import Path
import click
import pandas as pd
from mlperf.cli.framework.networks import CnnName
from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.report.text.views import Section
from mlperf.specs.kernels.memory import MemoryEstimate
"""


def test_the_template_view_shows_a_result(made: Made) -> None:
    from mlperf.specs import load_cnn, training_memory

    (section,) = made("A view", VIEW_AND_COMMAND).memory_sections(training_memory(load_cnn("alexnet"), 8))
    assert section.title == "Device memory"
    assert section.frame["size_bytes"].is_monotonic_decreasing


def test_the_template_command_shows_its_result(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    from mlperf.cli.framework.show import Settings

    command = made("A command", VIEW_AND_COMMAND).memory
    command.main(["alexnet", "--subbatch", "8"], obj=Settings(), standalone_mode=False)
    assert "weights" in capsys.readouterr().out


def test_the_template_column_and_error_are_made(made: Made) -> None:
    from mlperf.core.errors import DataError

    made("A column", "from mlperf.datasets import Column\n")
    names: dict[str, Any] = {"DataError": DataError, "text": "-1", "path": "a.csv", "line": 2, "column": "s"}
    with pytest.raises(DataError, match="line 2, column s"):
        exec(blocks("python", recipe("An error"))[0], names)  # noqa: S102 - running our own document is the test


@pytest.mark.slow
def test_the_python_of_the_readme_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing but what stands there: every name is imported or made in the block before it is used."""
    for block in blocks("python", README):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102 - running our own document is the test
    shown = capsys.readouterr().out
    assert "resnet50" in shown
    assert "epoch_s" in shown


def test_the_readme_speaks_no_internal_words() -> None:
    assert re.findall(r"ladder|rung|\blaws?\b|climb|goals of|\bH\d\b", README) == []


def test_every_script_of_the_contributors_exists() -> None:
    assert [path for path in re.findall(r"python ([a-z_/]+\.py)", CONTRIBUTING) if not (ROOT / path).exists()] == []
