"""Parts of a model file of kernels, read back strictly."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlperf.core.json_fields import Fields
from mlperf.features.source import CacheLevel
from mlperf.studies.kernels.estimates import EstimateScore
from mlperf.studies.kernels.tables.machines import MachineFacts

WHOLE = ("n_rows", "n_columns", "n_distinct", "n_terms")
WORDS = ("features", "learner")


def machine_from_dict(value: Any, path: str) -> MachineFacts:
    """Machine facts as `mlperf.core.shown.plain` wrote them."""
    with Fields(value, path) as fields:
        caches = tuple(cache_from_dict(one, f"{path}.caches[{place}]") for place, one in enumerate(fields.raw("caches")))
        return MachineFacts(
            name=fields.text("name"),
            caches=caches,
            last_cache_bytes=fields.integer("last_cache_bytes", lower=0),
            clock_hz=fields.number("clock_hz", finite=False),
            clock_source=fields.text("clock_source"),
            source=fields.text("source"),
        )


def cache_from_dict(value: Any, path: str) -> CacheLevel:
    """Read one cache level back."""
    with Fields(value, path) as fields:
        sizes = {name: fields.integer(name, lower=0) for name in ("size_bytes", "line_bytes", "ways")}
        return CacheLevel(name=fields.text("name"), **sizes)


def score_from_dict(value: Any, path: str) -> EstimateScore | None:
    """A score; null means that none was computed."""
    if value is None:
        return None
    with Fields(value, path) as fields:
        known: dict[str, Any] = {name: fields.text(name) for name in WORDS}
        known |= {name: fields.integer(name, lower=0) for name in WHOLE}
        rest = [field.name for field in dataclasses.fields(EstimateScore) if field.name not in known]
        known |= {name: fields.number(name, finite=False) for name in rest}
        return EstimateScore(**known)
