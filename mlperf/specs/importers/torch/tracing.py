"""A network from a torch module, by tracing it symbolically: no data run through it, no weights are read."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.specs.importers.imported import FLAT, IN_TOML, MAPS_FIRST, TOKENS_FIRST, TOKENS_LAST, Imported, unknown_operation
from mlperf.specs.importers.sample import sample_shape
from mlperf.specs.importers.torch.calls import CALLS, SAME_CONSTANT, SCALARS, Call, viewed
from mlperf.specs.importers.torch.modules import MODULES, READS_MAPS_FIRST, READS_SEQUENCES
from mlperf.specs.network.cnn import CnnSpec


def from_torch(module: Any, input_shape: Any, name: str | None = None) -> CnnSpec:
    """The layer table of a torch module.

    Parameters
    ----------
    module : torch.nn.Module
        Made of convolutions (transposed ones too), linear layers, (adaptive) pools, norms of batches, layers and groups,
        activations, dropout, flatten, sums, products, concatenations, resizing, embeddings, self-attention and softmax, as
        modules, functions or methods. Maps may change from the second to the last dimension and back; stochastic depth counts
        as nothing. Control flow must not depend on data.
    input_shape : (int, int, int)
        Maps, height and width of one sample; (maps, tokens, 1) where a convolution or the like reads [batch, maps, tokens], or a
        recurrent or linear layer [batch, tokens, maps]; (1, tokens, 1) where an embedding reads indices of shape [batch, tokens].
        The size of a batch may stand before them, or an example batch in their place.
    name : str, optional
        What reports call the network; by default the module's class in lower case.

    Raises
    ------
    MissingExtraError
        torch is not installed.
    DataError
        No module, or one that cannot be traced; ``input_shape`` is no shape; an operation has no layer (names the node and the
        operation), weights that several operations share, or shapes that do not fit.
    """
    try:
        from torch import fx
    except ImportError as error:
        raise MissingExtraError(
            "torch is not installed", hint="Install the extra: pip install 'mlperf-estimator[torch]'."
        ) from error
    called = name or type(module).__name__.lower()
    if not hasattr(module, "named_modules"):
        hint = "Give the network itself, not its class, weights or file."
        raise DataError(f"got {type(module).__name__}, expected a torch.nn.Module", place=f"network {called!r}", hint=hint)
    shape = sample_shape(input_shape, f"network {called!r}")
    try:
        graph = fx.Tracer().trace(module)
    except (fx.proxy.TraceError, TypeError, RuntimeError) as error:
        hint = (
            "Control flow must not depend on data: remove it, export the network to an ONNX file, which needs no tracing, or write "
            "it as a TOML file."
        )
        raise DataError(f"cannot be traced: {error}", place=f"network {called!r}", hint=hint) from error
    imported = Imported(called, shape)
    _check_own_weights(called, module, graph)
    scalars: dict[str, Any] = {}
    for node in graph.nodes:
        _add_node(imported, scalars, module, node)
    return imported.finish()


def _add_node(imported: Imported, scalars: dict[str, Any], module: Any, node: Any) -> None:
    if node.op == "placeholder":
        _add_input(imported, node, module)
    elif node.op == "call_module":
        _add_module(imported, node, module.get_submodule(node.target))
    elif node.op in ("call_function", "call_method"):
        _add_call(imported, scalars, node)
    elif node.op == "get_attr":
        _add_constant(imported, node.name, attrgetter(node.target)(module))
    elif node.op == "output":
        _check_output(imported, node)
    else:
        raise unknown_operation(imported.name, node.name, f"{node.op} {node.target}")


def _add_constant(imported: Imported, name: str, tensor: Any) -> None:
    """A tensor that the module holds; a buffer is not learnt."""
    from torch import nn

    imported.constants[name] = tuple(tensor.shape)
    if isinstance(tensor, nn.Parameter):
        imported.learnt[name] = {name: tensor.numel()}


def _check_own_weights(network: str, module: Any, graph: Any) -> None:
    """Refuse parameters that several operations read: as layers each would have its own, and all would be counted.

    Raises
    ------
    DataError
        Names the two operations.
    """
    from torch import nn

    readers: dict[int, str] = {}
    for node in graph.nodes:
        owners = {"call_module": module.get_submodule, "get_attr": lambda path: attrgetter(path)(module)}
        if node.op not in owners:
            continue
        owner = owners[node.op](node.target)
        learnt = [*owner.parameters()] if hasattr(owner, "parameters") else [owner]
        for parameter in {id(each) for each in learnt if isinstance(each, nn.Parameter)}:
            if readers.setdefault(parameter, node.name) != node.name:
                raise DataError(
                    f"got the same weights in {readers[parameter]!r} and {node.name!r}, expected each in one",
                    place=f"network {network!r}",
                    hint="Layers here share nothing: n_params would count them twice. If it may, give each a module of its own.",
                )


def _size(imported: Imported, scalars: dict[str, Any], node: Any) -> Any:
    """What a call that gives sizes gives for one sample; None where that is unknown."""
    from torch import fx

    operation = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    source = node.args[0] if node.args else None
    tensor = getattr(source, "name", "")
    if tensor in imported.aliases and operation in SCALARS:
        places = imported.sizes(tensor)
        sizes = tuple(places[letter] for letter in imported.layout(tensor))
        asked = [*node.args[1:], *node.kwargs.values()]
        if operation == "dim" or asked == ["ndim"]:
            return len(sizes)
        return sizes if asked in ([], ["shape"]) else sizes[asked[0]] if isinstance(asked[0], int) else None
    try:
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda each: scalars[each.name])
        return node.target(*args, **kwargs) if node.op == "call_function" else getattr(args[0], node.target)(*args[1:], **kwargs)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        return None


OR_ONNX = "Of an ONNX file of the network more is recognised: attention that is written out, windows, learnt relative positions."

READS_TOKENS = ("Linear", "LayerNorm", "MultiheadAttention", "RNN", "GRU", "LSTM")
"""Classes that take the last dimension for the maps."""


def _add_input(imported: Imported, node: Any, module: Any) -> None:
    if imported.aliases:
        hint = "Wrap the module so that forward() takes the images only."
        raise DataError(f"got a second input {node.name!r}, expected one", place=f"network {imported.name!r}", hint=hint)
    imported.aliases[node.name] = "input"
    readers = {type(module.get_submodule(user.target)).__name__ for user in node.users if user.op == "call_module"}
    if imported.input_shape.width == 1 and readers.intersection(READS_SEQUENCES):
        imported.layouts[node.name] = TOKENS_LAST
    elif imported.input_shape.width == 1 and imported.input_shape.height > 1 and readers.intersection(READS_TOKENS):
        imported.layouts[node.name] = TOKENS_FIRST


def _check_output(imported: Imported, node: Any) -> None:
    if imported.aliases.get(getattr(node.args[0], "name", "")) != imported.layers[-1].name:
        hint = "Wrap the module so that forward() returns the last layer's output only."
        raise DataError(
            "got another output than the last layer's, expected exactly that", place=f"network {imported.name!r}", hint=hint
        )


def _add_module(imported: Imported, node: Any, layer: Any) -> None:
    kind, sources = type(layer).__name__, [source.name for source in node.all_input_nodes]
    rule = MODULES.get(kind)
    if rule is None or len(sources) != 1:
        raise unknown_operation(imported.name, node.name, f"{kind} of {len(sources)} inputs" if rule else kind)
    if kind in READS_MAPS_FIRST and imported.layout(sources[0]) not in (MAPS_FIRST, FLAT):
        raise unknown_operation(imported.name, node.name, f"{kind} of a tensor laid out as {imported.layout(sources[0])}")
    if kind in READS_SEQUENCES and imported.layout(sources[0]) not in (TOKENS_LAST, FLAT):
        raise DataError(
            f"got {kind} of {imported.shape(sources[0])}, expected a sequence of maps",
            place=f"network {imported.name!r}, node {node.name!r}",
            hint="The input_shape of a sequence is (maps, tokens, 1).",
        )
    rule(imported, node.name, sources[0], layer)


def _add_call(imported: Imported, scalars: dict[str, Any], node: Any) -> None:
    operation = node.target if node.op == "call_method" else getattr(node.target, "__name__", str(node.target))
    operands = [argument.name for argument in node.all_input_nodes]
    if operation in SCALARS or (operands and scalars.keys() >= set(operands)):
        scalars[node.name] = _size(imported, scalars, node)
        return
    if operands and operands[0] in imported.constants and operation in SAME_CONSTANT:
        imported.constants[node.name] = viewed(imported.constants[operands[0]], operation, node)
        if operands[0] in imported.learnt:
            imported.learnt[node.name] = imported.learnt[operands[0]]
        return
    rule = CALLS.get(operation.strip("_"))
    if rule is None or not operands or not rule(imported, Call.of(node, scalars)):
        raise unknown_operation(imported.name, node.name, operation, f"{IN_TOML} {OR_ONNX}")
