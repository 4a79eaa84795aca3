"""Networks as TOML files: a table of layers, or the few numbers of the SPRINT form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.fields import check_keys, read_spec
from mlperf.specs.network.layer import DEFAULTS, KIND_FIELDS, Layer, layer_error
from mlperf.specs.network.toml import toml_text

_LAYER_KEYS = tuple(DEFAULTS)
_SPRINT_KEYS = ("input_size", "n_maps", "pools_after", "n_conv", "filter_size", "floor")


def read_cnn(path: str | Path) -> CnnSpec:
    """Read a network from a TOML file.

    The file has ``name`` and either ``input_maps``, ``input_size`` and ``layers`` (a list of tables with the fields of
    `Layer`), or a table ``[sprint]`` with the arguments of `CnnSpec.from_sprint`.

    Raises
    ------
    DataError
        Unknown or missing keys, or a network whose shapes do not fit; names the file, the layer, and what was expected.
    """
    return read_spec(path, cnn_from_dict)


def write_cnn(cnn: CnnSpec, path: str | Path) -> None:
    """Write ``cnn`` as TOML; `read_cnn` gives an equal network back."""
    make_folder(Path(path).parent, above=True)
    write_text_whole(Path(path), cnn_text(cnn))


def cnn_text(cnn: CnnSpec) -> str:
    """``cnn`` as TOML text, one layer on a line, fields at their defaults left out."""
    return toml_text(cnn_to_dict(cnn))


def cnn_to_dict(cnn: CnnSpec) -> dict[str, Any]:
    """``cnn`` as plain values; `cnn_from_dict` gives an equal network back."""
    return {
        "name": cnn.name,
        "input_maps": cnn.input_maps,
        "input_size": _short(cnn.input_size),
        "layers": [_layer_row(layer) for layer in cnn.layers],
    }


def cnn_from_dict(table: Mapping[str, Any]) -> CnnSpec:
    """The network of a table as read from TOML or JSON; see `read_cnn`."""
    if "sprint" in table:
        return _from_sprint(table)
    keys = ("name", "input_maps", "input_size", "layers")
    check_keys(table, keys, keys, "network")
    rows = table["layers"]
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise DataError(
            f"got {type(rows).__name__}, expected a list of tables",
            place="layers",
            hint='As in layers = [{ name = "conv1", kind = "conv", ... }].',
        )
    size = table["input_size"]
    return CnnSpec(
        table["name"],
        table["input_maps"],
        tuple(size) if isinstance(size, list) else size,
        tuple(_layer(row, number) for number, row in enumerate(rows, 1)),
    )


def _from_sprint(table: Mapping[str, Any]) -> CnnSpec:
    check_keys(table, ("name", "sprint"), ("name", "sprint"), "network")
    if not isinstance(table["sprint"], Mapping):
        raise DataError(
            f"got {table['sprint']!r}, expected a table", place="[sprint]", hint="Put its numbers below a line [sprint]."
        )
    check_keys(table["sprint"], _SPRINT_KEYS, ("input_size", "n_maps"), "[sprint]")
    return CnnSpec.from_sprint(table["name"], **table["sprint"])


def _layer(row: Mapping[str, Any], number: int) -> Layer:
    check_keys(row, _LAYER_KEYS, ("name", "kind"), f"layer {row.get('name', number)!r}")
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    if "stride" in row and fields["stride"] in (0, (0, 0)):
        hint = "Leave stride out for its default: 1, and the window itself for a pool."
        raise layer_error(str(row["name"]), "stride", row["stride"], "an integer or [height, width], each >= 1", hint)
    return Layer(**fields)


def _layer_row(layer: Layer) -> dict[str, Any]:
    keys = ("inputs", *KIND_FIELDS[layer.kind])
    given = {key: getattr(layer, key) for key in keys if getattr(layer, key) != _default(layer, key)}
    return {"name": layer.name, "kind": layer.kind, **{key: _short(value) for key, value in given.items()}}


def _default(layer: Layer, key: str) -> Any:
    """What reading would fill in: the stride of convolutions is 1, that of a pool its window."""
    if key != "stride" or layer.is_adaptive:
        return DEFAULTS[key]
    return layer.filter_size if layer.kind == "pool" else (1, 1)


def _short(value: Any) -> Any:
    """A square size as one integer; names of inputs as a list."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == value[1] and isinstance(value[0], int):
        return value[0]
    return list(value) if isinstance(value, tuple) else value
