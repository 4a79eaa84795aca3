"""Write docs/reference/json.md and docs/reference/schema/ from the result classes: ``python docs/make_json.py``."""

from __future__ import annotations

from pathlib import Path

from mlperf.core.files import write_text_whole
from mlperf.report.text.registry import RESULTS
from mlperf.report.text.results import json_document, schema_name, schema_text

REFERENCE = Path(__file__).parent / "reference"


def main() -> None:
    """Write every file."""
    write_text_whole(REFERENCE / "json.md", json_document())
    for command in RESULTS:
        write_text_whole(REFERENCE / "schema" / schema_name(command), schema_text(command))


if __name__ == "__main__":
    main()
