"""Which class each command's result is of, and the document that describes them all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from mlperf.report.text.schema import fields_schema, record_schema, writes_its_fields

RESULTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "demo": ("mlperf.studies.demo:Demo",),
        "collect": (
            "mlperf.collect.protocol.summary:Collected",
            "mlperf.collect.trainer.summary:Trained",
            "mlperf.collect.contraction.summary:CollectedContractions",
            "mlperf.collect.counters.offers:Probe",
            "mlperf.collect.counters.counted:Counted",
            "mlperf.collect.counters.kernel_counters:KernelCounters",
        ),
        "data list": ("mlperf.datasets.catalogue.listing:DataList",),
        "data columns": ("mlperf.datasets.dictionary.dictionary:DataDictionary",),
        "data check": ("mlperf.datasets.catalogue.check:DataCheck",),
        "data template": ("mlperf.datasets.reading.template:Template",),
        "data export": ("mlperf.datasets.catalogue.export:Exported",),
        "data import": ("mlperf.datasets.campaigns.gpu_campaign:Imported",),
        "features swc-s": ("mlperf.features.network.base:FeatureTable",),
        "features swc-o": ("mlperf.features.network.base:FeatureTable",),
        "features engine": ("mlperf.features.network.base:FeatureTable",),
        "features gain": ("mlperf.studies.gain:CharacteristicGain",),
        "features dwc-b": ("mlperf.features.network.base:FeatureTable",),
        "features dwc-o": ("mlperf.features.network.base:FeatureTable",),
        "watch": ("mlperf.forecast.result:Watched",),
        "train": (
            "mlperf.training.model:Model",
            "mlperf.training.table_model:TableModel",
            "mlperf.training.quality.quality_model:QualityModel",
        ),
        "report": (
            "mlperf.training.model_report:ModelReport",
            "mlperf.report.paper.result:PaperFigures",
            "mlperf.traces.timeline.summary:TimelineSummary",
        ),
        "predict": ("mlperf.planning.run_prediction:Prediction", "mlperf.planning.table_prediction:RowPredictions"),
        "compare": ("mlperf.planning.compare:Comparison",),
        "search": ("mlperf.planning.search.result:SearchResult", "mlperf.planning.search.machines:MachineSearch"),
        "kernels study": ("mlperf.studies.kernels.study:KernelStudy",),
        "kernels train": ("mlperf.studies.kernels.kernel_model:KernelModel",),
        "kernels predict": ("mlperf.studies.kernels.kernel_model:KernelPredictions",),
        "kernels equation": ("mlperf.studies.kernels.published:PublishedModel",),
        "accuracy": ("mlperf.studies.open_data.result:OpenAccuracy", "mlperf.studies.trainer.result:TrainerAccuracy"),
    }
)

INTRODUCTION = """\
# The JSON of every command

With `--json` a command prints one JSON document on stdout and nothing else there:

```json
{"format": "mlperf-record", "version": 1, "command": "predict", "provenance": {}, "result": {}}
```

- `provenance`: `created_utc`, `command_line`, `seed`, `data_sha256` (what was read), `versions`, `host`.
- `result`: what the public Python function returns, as its `to_dict()` gives it.
- Times are in seconds, sizes in bytes, errors are fractions; a number's unit is in its name. `--time-unit` changes tables only.
- JSON has no NaN and no infinity: they are the strings `"NaN"`, `"Inf"`, `"-Inf"`.
- A table is `{"columns": [...], "rows": [[...], ...]}`.
- `version` grows when a key changes its meaning or goes; new keys may come at any time.

The full JSON Schemas (draft 2020-12) are in [schema/](schema). Both are made from the result classes by `docs/make_json.py`;
a test holds them together.
"""


def result_classes(command: str) -> list[Any]:
    """Classes a command's result may be of."""
    found = []
    for target in RESULTS[command]:
        module, _, name = target.partition(":")
        found.append(getattr(import_module(module), name))
    return found


def command_schema(command: str) -> dict[str, Any]:
    """JSON Schema of a command's record."""
    return record_schema(command, *result_classes(command))


def schema_text(command: str) -> str:
    """The schema as a file's content."""
    return json.dumps(command_schema(command), indent=1, ensure_ascii=False) + "\n"


def json_document() -> str:
    """The page that describes the record of every command."""
    return "\n".join([INTRODUCTION, *(line for command in RESULTS for line in command_lines(command))])


def command_lines(command: str) -> Iterator[str]:
    """Heading of a command, and one table for each class of its result and of their parts."""
    yield f"## mlperf {command}\n"
    yield f"Schema: [{schema_name(command)}](schema/{schema_name(command)})\n"
    for cls in result_classes(command):
        yield f"`{cls.__name__}`: {first_line(cls)}\n"
        if not writes_its_fields(cls):
            yield f"{first_line(cls.to_dict)} Its keys are those of the class's `to_dict()`.\n"
            continue
        schema = fields_schema(cls)
        yield from table_lines(schema)
        for part in titled_parts(schema):
            yield f"`{part['title']}`:\n"
            yield from table_lines(part)


def table_lines(schema: Mapping[str, Any]) -> Iterator[str]:
    """One row a key."""
    yield "| key | JSON | meaning |"
    yield "|---|---|---|"
    for name, value in schema["properties"].items():
        yield f"| `{name}` | {json_type(value)} | {value.get('description', '')} |"
    yield ""


def titled_parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Objects with fields inside a schema, each class once, in the order met."""
    found: dict[str, Mapping[str, Any]] = {}
    waiting = list(schema["properties"].values())
    while waiting:
        value = waiting.pop(0)
        waiting += value.get("anyOf", []) + [
            value[key] for key in ("items", "additionalProperties") if isinstance(value.get(key), dict)
        ]
        if "properties" in value and value["title"] not in found:
            found[value["title"]] = value
            waiting += value["properties"].values()
    return list(found.values())


def schema_name(command: str) -> str:
    """File name of a command's schema."""
    return f"{command.replace(' ', '_')}.json"


def first_line(thing: Any) -> str:
    """First line of a docstring."""
    return (thing.__doc__ or "").strip().splitlines()[0]


def json_type(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "title" in schema:
        return f"`{schema['title']}`"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(json_type(part) for part in schema["anyOf"])
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {json_type(schema['additionalProperties'])}"
    if schema.get("type") == "array":
        return f"list of {json_type(schema['items'])}" if isinstance(schema.get("items"), Mapping) else "list"
    return str(schema.get("type", "any"))
