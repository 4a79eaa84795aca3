"""A training step by torch's layers: whole by autograd, and call by call as an explicit chain of the same kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mlperf.collect.backends.torch_layers import PASSES, RESHAPED, Keep, total
from mlperf.collect.backends.torch_module import FLAT, rank_read, ranks, torch_module, value_shape
from mlperf.collect.cnn_engine.builder import Operation
from mlperf.core.extras import require
from mlperf.specs.kernels.layer_calls import RUNS_BACKWARD, library_name, runs
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.network.layer import NETWORK_INPUT

MEAN, IGNORED = 1, -100
"""torch's numbers for a mean over the samples, and for the class that no sample has."""

VIEW = ""
"""Kernel of an operation that only looks at memory in another way: it is not timed."""


@dataclass(slots=True, eq=False)
class Chain:
    """Tensors on their way through one step.

    Attributes
    ----------
    cnn : CnnSpec
        The network.
    keep : Keep
        Parameters, and what the way back needs.
    rank : Mapping[str, int]
        Dimensions of each value.
    shape : Mapping[str, tuple of int]
        Shape of each value.
    last_reader : Mapping[str, str]
        By value: the layer after which nobody reads it in the forward pass.
    images, labels : tensors
        One sub-batch.
    loss : tensor or None
        Mean cross-entropy of the last run.
    values : dict
        Outputs that some layer still reads, by layer.
    sent : dict
        Gradients by a layer's output, one from each reader, until the layer takes them.
    """

    cnn: CnnSpec
    keep: Keep
    rank: Mapping[str, int]
    shape: Mapping[str, tuple[int, ...]]
    last_reader: Mapping[str, str]
    images: Any
    labels: Any
    loss: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, list[Any]] = field(default_factory=dict)

    def forward(self, layer: Layer) -> None:
        """Run a layer, and let go of inputs that nobody reads any more, as autograd does."""
        wanted = rank_read(layer, self.rank)
        inputs = [as_rank(self.value(name), wanted) for name in self.cnn.sources[layer.name]]
        act, _ = PASSES[layer.kind] if runs(layer) else RESHAPED
        self.values[layer.name] = act(self.keep, layer, inputs)
        for name in self.cnn.sources[layer.name]:
            if self.last_reader[name] == layer.name:
                self.values.pop(name, None)

    def value(self, name: str) -> Any:
        """Output of a layer, or the images."""
        return self.images if name == NETWORK_INPUT else self.values[name]

    def softmax(self) -> None:
        """Softmax, mean cross-entropy, and its gradient by the logits."""
        aten, last = self.keep.aten, self.cnn.layers[-1].name
        logits = as_rank(self.values.pop(last), FLAT)
        logs = aten._log_softmax(logits, 1, False)
        self.loss, weight = aten.nll_loss_forward(logs, self.labels, None, MEAN, IGNORED)
        one = self.keep.torch.ones_like(self.loss)
        gradient = aten.nll_loss_backward(one, logs, self.labels, None, MEAN, IGNORED, weight)
        self.send(last, aten._log_softmax_backward_data(gradient, logs, 1, logs.dtype))

    def add_gradient(self, layer: Layer) -> None:
        """Sum what the readers of a layer sent."""
        self.sent[layer.name] = [total(self.sent[layer.name])]

    def backward(self, layer: Layer, needed: Mapping[str, bool]) -> None:
        """Run a layer's way back and send the gradients on."""
        (gradient,) = self.sent.pop(layer.name)
        _, act = PASSES[layer.kind] if runs(layer) else RESHAPED
        found = act(self.keep, layer, gradient)
        for name, each in zip(self.cnn.sources[layer.name], found, strict=True):
            if needed[name]:
                self.send(name, each)

    def send(self, name: str, gradient: Any) -> None:
        """Hand a layer the gradient by its output, in its output's shape."""
        shape = self.shape[name]
        self.sent.setdefault(name, []).append(gradient if gradient.shape == shape else gradient.reshape(shape))


def as_rank(value: Any, rank: int) -> Any:
    """A view with as many dimensions as a layer wants."""
    if value.dim() == rank:
        return value
    return value.flatten(1) if rank == FLAT else value.unflatten(1, (-1, 1, 1))


@dataclass(frozen=True, slots=True, eq=False)
class LibraryStep:
    """One training step on torch's layers, ready to run again and again.

    Attributes
    ----------
    run : callable
        The whole step: forward, cross-entropy, backward by autograd; returns the loss and the gradients of all parameters.
    operations : tuple of Operation
        The same step call by call, in execution order; an empty kernel marks a view, which no time belongs to.
    chain : Chain
        Where those calls leave the loss (`Chain.loss`) and the gradients (`Keep.gradients`).
    module : torch.nn.Module
        The network.
    layers : Mapping[str, torch.nn.Module]
        Its modules by layer.
    """

    run: Callable[[], object]
    operations: tuple[Operation, ...]
    chain: Chain
    module: Any
    layers: Mapping[str, Any]


def library_step(cnn: CnnSpec, subbatch_size: int, device: str = "cpu", seed: int = 0) -> LibraryStep:
    """Lay out one training step.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    subbatch_size : int
        Samples.
    device : str
        ``"cpu"`` or ``"cuda"``.
    seed : int
        Of images, labels and parameters.

    Raises
    ------
    MissingExtraError
        torch is not installed.
    """
    torch = require("torch", "torch")
    module, layers = torch_module(cnn, device, seed)
    generator = torch.Generator().manual_seed(seed)
    rank = ranks(cnn)
    shape = {name: value_shape(cnn, rank, name, subbatch_size) for name in rank}
    images = _inputs(torch, cnn, shape[NETWORK_INPUT], generator).to(device)
    labels = torch.randint(cnn.output_shape.size, (subbatch_size,), generator=generator).to(device)
    needed = cnn.needs_gradient
    wanted = {layer.name: any(needed[source] for source in cnn.sources[layer.name]) for layer in cnn.layers}
    detached = {
        name: {kind: values.detach() for kind, values in (*part.named_parameters(), *part.named_buffers())}
        for name, part in layers.items()
    }
    learnt = {name: dict(part.named_parameters()) for name, part in layers.items()}
    last_readers = {source: name for name, sources in cnn.sources.items() for source in sources}
    chain = Chain(cnn, Keep(torch, detached, wanted, layers, learnt), rank, shape, last_readers, images, labels)
    whole = partial(_by_autograd, torch, module, list(module.parameters()), images, labels)
    return LibraryStep(whole, tuple(_operations(chain)), chain, module, layers)


def _inputs(torch: Any, cnn: CnnSpec, shape: tuple[int, ...], generator: Any) -> Any:
    """Random images; indices where an embedding reads them."""
    sizes = [layer.n_embeddings for layer in cnn.layers if layer.kind == "embedding" and NETWORK_INPUT in cnn.sources[layer.name]]
    if sizes:
        return torch.randint(min(sizes), shape, generator=generator).float()
    return torch.randn(shape, generator=generator)


def _by_autograd(torch: Any, module: Any, parameters: Sequence[Any], images: Any, labels: Any) -> tuple[Any, Sequence[Any]]:
    loss = torch.nn.functional.cross_entropy(module(images), labels)
    return loss, torch.autograd.grad(loss, parameters)


def _operations(chain: Chain) -> list[Operation]:
    cnn, needed, consumers = chain.cnn, chain.cnn.needs_gradient, chain.cnn.consumers
    # Gradients of the run before are let go of first, as training loops do: their memory then comes from the system again.
    found = [Operation(VIEW, NETWORK_INPUT, chain.keep.gradients.clear)]

    def emit(kernel: str, layer: Layer, run: Callable[[], None]) -> None:
        found.append(Operation(kernel, layer.name, run))

    for layer in cnn.layers:
        emit(f"{library_name(layer)}_forward" if runs(layer) else VIEW, layer, partial(chain.forward, layer))
    emit("softmax", cnn.layers[-1], chain.softmax)
    for layer in reversed(cnn.layers):
        if not needed[layer.name]:
            continue
        if len(consumers[layer.name]) > 1:
            emit("add_gradient", layer, partial(chain.add_gradient, layer))
        computes = runs(layer) and layer.kind in RUNS_BACKWARD
        emit(f"{library_name(layer)}_backward" if computes else VIEW, layer, partial(chain.backward, layer, needed))
    return found
