"""The stored notebook is the script, executed to its end."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = [path for path in sorted(EXAMPLES.glob("*.py")) if path.name != "execute.py"]


def execute_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("execute", EXAMPLES / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cells_are_run_in_one_namespace_and_their_outputs_kept() -> None:
    execute = execute_module()
    text = '"""Doc."""\n\n# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\na = 2\nprint("hello")\n\n# %%\na + 1\n'
    cells = execute.split_cells(text)
    assert cells == [("markdown", "# Title\n\nWords."), ("code", 'a = 2\nprint("hello")'), ("code", "a + 1")]
    made = execute.notebook(cells)["cells"]
    assert made[1]["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["hello\n"]}]
    assert made[2]["outputs"][0]["data"] == {"text/plain": ["3"]}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_notebook_holds_the_script_and_an_output_for_each_value(script: Path) -> None:
    stored = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    cells = execute_module().split_cells(script.read_text(encoding="utf-8"))
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in stored["cells"]] == cells, (
        f"run: python examples/execute.py {script}"
    )
    assert any(cell.get("outputs") for cell in stored["cells"])
