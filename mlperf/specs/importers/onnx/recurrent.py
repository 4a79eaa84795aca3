"""ONNX operators that go from token to token, and what graphs make of the two tensors that these write."""

from __future__ import annotations

from mlperf.specs.importers.imported import FLAT, STEPS_FIRST, TOKENS_FIRST, Imported, unknown_operation
from mlperf.specs.importers.onnx.node import OnnxNode
from mlperf.specs.network.layer import CELLS

DIRECTIONS_APART = ("tgbc", "tbgc", "btgc")
"""States at every token with a dimension for the directions, which are groups of the layer's maps."""

LENGTHS, STATE, CELL, PEEPHOLES = 4, 5, 6, 7
"""Places of optional inputs."""


def recurrent(imported: Imported, node: OnnxNode) -> bool:
    """A recurrent layer from states of zeros; its second output is the state behind the last token of each direction."""
    source, weights = node.inputs[0], node.dims(1)
    expected = TOKENS_FIRST if node.attributes.get("layout", 0) else STEPS_FIRST
    if len(weights) != 3 or not node.dims(2) or imported.layout(source) != expected:
        return False
    _check_plain(imported, node)
    n_directions, n_units = weights[0], node.attributes.get("hidden_size", node.dims(2)[-1])
    imported.check_width(node.output, "maps", weights[2], imported.shape(source).n_maps)
    cell = node.operator.lower()
    imported.check_width(node.output, "units of all gates", weights[1], CELLS[cell] * n_units)
    written = node.output or f"{node.outputs[1]}_tokens"
    bias = node.has_input(3)
    imported.add(written, "recurrent", [source], n_maps=n_units, cell=cell, bidirectional=n_directions == 2, bias=bias)
    imported.layouts[written] = "btgc" if node.attributes.get("layout", 0) else "tgbc"
    imported.grouped[written] = n_directions
    if len(node.outputs) > 1 and node.outputs[1]:
        imported.states[node.outputs[1]] = tuple((written, direction) for direction in range(n_directions))
    return True


def _check_plain(imported: Imported, node: OnnxNode) -> None:
    """Refuse what the layer does not have."""
    learnt = [place for place in (STATE, CELL) if node.has_input(place) and (not node.dims(place) or any(node.values(place)))]
    unlike = {
        "sequences of different lengths": node.has_input(LENGTHS) and not node.dims(LENGTHS),
        "states at the begin other than zeros": bool(learnt),
        "peepholes": node.has_input(PEEPHOLES),
        "coupled gates": bool(node.attributes.get("input_forget", 0)),
    }
    for what, is_so in unlike.items():
        if is_so:
            raise unknown_operation(imported.name, node.name, f"{node.operator} with {what}")


def directions_moved(imported: Imported, node: OnnxNode) -> bool:
    """Samples, tokens and directions in another order."""
    source = node.inputs[0]
    layout, order = imported.layout(source), node.attributes.get("perm", ())
    if layout not in DIRECTIONS_APART or sorted(order) != [0, 1, 2, 3]:
        return False
    after = "".join(layout[place] for place in order)
    if after not in DIRECTIONS_APART:
        return False
    imported.same(node.output, source, after)
    imported.grouped[node.output] = imported.grouped[source]
    return True


def directions_joined(imported: Imported, node: OnnxNode, gone: list[int] | None = None) -> bool:
    """The directions' maps one behind the other: a reshape to three sizes, or the one direction's size of 1 squeezed."""
    source = node.inputs[0]
    layout = imported.layout(source)
    if layout not in DIRECTIONS_APART:
        return False
    if imported.grouped[source] > 1 and (gone is not None or not layout.endswith("gc")):
        return False
    wanted, maps = node.values(1), imported.shape(source).n_maps
    is_reshape = gone is None and len(wanted) == 3 and (wanted[2] == maps or (wanted[2] == -1.0 and min(wanted[:2]) >= 0))
    if not is_reshape and gone not in ([], [layout.index("g")]):
        return False
    imported.same(node.output, source, layout.replace("g", ""))
    return True


def of_states(imported: Imported, node: OnnxNode) -> bool:
    """One of the states behind the last token, several, or all in a row; False for other uses."""
    source = node.inputs[0]
    states = imported.states.get(source, ())
    axis = node.attributes.get("axis", 0)
    if node.operator == "Concat" and axis == 0 and all(name in imported.states for name in node.inputs):
        imported.states[node.output] = tuple(state for name in node.inputs for state in imported.states[name])
        return True
    if node.operator == "Gather" and axis == 0 and node.values(1):
        chosen = tuple(states[int(place)] for place in node.values(1))
        return _one(imported, node.output, chosen) if not node.dims(1) else _several(imported, node.output, chosen)
    if node.operator == "Slice" and node.values(3) == [0.0] and node.values(4) in ([], [1.0]):
        first, end = (int(max(min(node.values(place)[0], len(states)), -len(states))) for place in (1, 2))
        return _several(imported, node.output, states[first:end])
    axes = [int(each) for each in node.attributes.get("axes") or node.values(1)]
    is_alone = (node.operator == "Squeeze" and axes in ([], [0])) or (node.operator == "Reshape" and len(axes) == 2)
    return is_alone and _one(imported, node.output, states)


def _one(imported: Imported, tensor: str, states: tuple[tuple[str, int], ...]) -> bool:
    if len(states) != 1:
        return False
    imported.state(tensor, states[0])
    imported.layouts[tensor] = FLAT
    return True


def _several(imported: Imported, tensor: str, states: tuple[tuple[str, int], ...]) -> bool:
    imported.states[tensor] = states
    return bool(states)
