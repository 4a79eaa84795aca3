"""A node of an ONNX graph as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlperf.specs.importers.imported import Imported
from mlperf.specs.importers.onnx.constants import is_small

MOST_SHOWN = 8
"""Numbers of an input that a message shows."""


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """A node with its attributes as plain values and the constants among its inputs.

    Attributes
    ----------
    name : str
        The node's name, or that of its output where it has none.
    operator : str
        ``Conv``, ``Gemm``, ...
    inputs : tuple of str
        Tensor names; an omitted optional input is the empty string.
    output : str
        First output.
    attributes : Mapping
        By name.
    constants : Mapping
        Shapes (and, through `values`, contents) of the inputs known from the file.
    outputs : tuple of str
        All tensors that it writes.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, Any]
    constants: Mapping[str, Any]
    outputs: tuple[str, ...] = ()

    @classmethod
    def read(cls, proto: Any, constants: Mapping[str, Any]) -> OnnxNode:
        """Read the attribute from the file's own form."""
        from onnx.helper import get_attribute_value

        attributes = {each.name: get_attribute_value(each) for each in proto.attribute}
        known = {name: constants[name] for name in proto.input if name in constants}
        name, outputs = proto.name or proto.output[0], tuple(proto.output)
        return cls(name, proto.op_type, tuple(proto.input), proto.output[0], attributes, known, outputs)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Inputs that are computed, not constant."""
        return tuple(name for name in self.inputs if name and name not in self.constants)

    @property
    def remark(self) -> str:
        """What distinguishes this use of the operator: attributes other than graphs, and the few numbers of its inputs."""
        plain = {name: value for name, value in self.attributes.items() if not hasattr(value, "node")}
        given = [self.values(place) for place in range(len(self.inputs))]
        numbers = ", ".join(f"[{', '.join(f'{number:.9g}' for number in each)}]" for each in given if 0 < len(each) <= MOST_SHOWN)
        return (f" with {plain}" if plain else "") + (f" by {numbers}" if numbers else "")

    @property
    def unread(self) -> str:
        """A file beside the model that holds numbers of an input which are not known from it; else nothing."""
        small = [tensor for tensor in self.constants.values() if is_small(tensor)]
        return next((each.value for tensor in small for each in tensor.external_data if each.key == "location"), "")

    def has_input(self, place: int) -> bool:
        """Whether the optional input at that place is given."""
        return len(self.inputs) > place and bool(self.inputs[place])

    def dims(self, place: int) -> tuple[int, ...]:
        """Shape of a constant input; empty where it is not constant."""
        tensor = self.constants.get(self.inputs[place]) if self.has_input(place) else None
        return tuple(tensor.dims) if tensor is not None else ()

    def values(self, place: int) -> list[float]:
        """Numbers of a constant input; empty where it is absent or not constant."""
        tensor = self.constants.get(self.inputs[place]) if self.has_input(place) else None
        if tensor is None or tensor.data_location:  # what lies in files beside the model is not read
            return []
        from onnx.numpy_helper import to_array

        return [float(value) for value in to_array(tensor).ravel()]

    def axes(self, place: int) -> list[int]:
        """Dimensions from the attribute (old files) or from an input."""
        return [int(axis) for axis in self.attributes.get("axes") or self.values(place)]


Rule = Callable[[Imported, OnnxNode], bool]
"""Adds the layer of a node; False where this use of the operator has no layer."""
