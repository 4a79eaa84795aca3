"""The document that describes every command's result, and its JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mlperf.report.text.registry import RESULTS
from mlperf.report.text.schema import fields_schema, record_schema, writes_its_fields
from mlperf.report.text.views import load

INTRODUCTION = """\
# The JSON of every command

With `--json` a command prints one JSON document on stdout and nothing else there:

```json
{"format": "mlperf-record", "version": 1, "command": "predict", "provenance": {}, "answer": "", "result": {}}
```

- `provenance`: `created_utc`, `command_line`, `seed`, `data_sha256` (what was read), `versions`, `host`.
- `answer`: the answer in one sentence, the first line that people see; absent where a command answers nothing.
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
    return [load(home) for home in RESULTS[command]]


def command_schema(command: str) -> dict[str, Any]:
    """JSON Schema of a command's record."""
    n_answers = sum(bool(view.answer) for view in RESULTS[command].values())
    return record_schema(command, *result_classes(command), n_answers=n_answers)


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
