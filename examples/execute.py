"""Run a script of ``# %%`` cells and store it with its outputs as a notebook: ``python examples/execute.py examples/NAME.py``.

Needs no Jupyter: cells run in one namespace; what they print, and the value of their last line, become outputs.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

from mlperf.core.files import write_text_whole
from mlperf.core.shown import Shown
from mlperf.report.figures.figures import figure_svg
from mlperf.report.text.views import result_text

CELL = re.compile(r"^# %%(.*)$", flags=re.MULTILINE)
MARKDOWN = "[markdown]"


def split_cells(text: str) -> list[tuple[str, str]]:
    """(``"markdown"`` or ``"code"``, source) of every cell; what stands before the first is left out."""
    parts = CELL.split(text)[1:]
    cells = []
    for mark, body in zip(parts[::2], parts[1::2], strict=True):
        if mark.strip() == MARKDOWN:
            cells.append(("markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())))
        else:
            cells.append(("code", body.strip()))
    return cells


def run_code(source: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute one code cell and return its outputs in the notebook format."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), namespace)  # noqa: S102 - running the cells of our own example is the purpose
        if last is not None:
            value = eval(compile(last, "<cell>", "eval"), namespace)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if value is not None:
        outputs.append({"output_type": "display_data", "data": shown(value), "metadata": {}})
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """A value as the forms a notebook may show: SVG for a figure, HTML where it has it, text always."""
    if type(value).__name__ == "Figure":
        return {"image/svg+xml": lines(figure_svg(value)), "text/plain": ["figure"]}
    forms: dict[str, Any] = {"text/plain": lines(text_of(value))}
    if hasattr(value, "_repr_html_"):
        forms["text/html"] = lines(value._repr_html_())
    return forms


def text_of(value: Any) -> str:
    """A result as the command line shows it, a frame whole, anything else as it shows itself."""
    if isinstance(value, Shown):
        return result_text(value)
    return str(value.to_string()) if hasattr(value, "to_string") else repr(value)


def lines(text: str) -> list[str]:
    """Text in the notebook format: a list of lines that keep their ends."""
    return text.splitlines(keepends=True)


def notebook(cells: list[tuple[str, str]]) -> dict[str, Any]:
    """Execute the cells in order and return the notebook."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    made = []
    for number, (kind, source) in enumerate(cells, start=1):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines(source)}
        if kind == "code":
            cell |= {"execution_count": number, "outputs": run_code(source, namespace)}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def main() -> None:
    """Write ``NAME.ipynb`` next to ``NAME.py``."""
    script = Path(sys.argv[1])
    made = notebook(split_cells(script.read_text(encoding="utf-8")))
    write_text_whole(script.with_suffix(".ipynb"), json.dumps(made, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
