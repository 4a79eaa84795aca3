"""Write docs/json.md and docs/schema/ from the result classes: ``python docs/make_json.py``."""

from __future__ import annotations

from pathlib import Path

from mlperf.core.files import write_text_whole
from mlperf.report.text.results import RESULTS, json_document, schema_name, schema_text

DOCS = Path(__file__).parent


def main() -> None:
    """Write every file."""
    write_text_whole(DOCS / "json.md", json_document())
    for command in RESULTS:
        write_text_whole(DOCS / "schema" / schema_name(command), schema_text(command))


if __name__ == "__main__":
    main()
