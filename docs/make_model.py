"""Train the models that ship with the package: ``python docs/make_model.py``."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import mlperf
from mlperf.models.storage.document import document_to_json
from mlperf.studies.model_files import BUNDLED, bundled_models


def make(name: str) -> Path:
    """Write the model of one bundled campaign as the package holds it, without the facts of the host that trained it."""
    model = mlperf.train(name)
    kept = {key: model.provenance[key] for key in ("created_utc", "data_sha256", "seed", "versions")}
    provenance = {**kept, "command_line": ["mlperf", "train", name], "host": {}}
    path = BUNDLED / f"{name}.json.gz"
    text = document_to_json(replace(model, provenance=provenance).to_dict())
    # Without the time of writing: the same model is the same file.
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    return path


if __name__ == "__main__":
    for shipped in bundled_models():
        print(make(shipped))
