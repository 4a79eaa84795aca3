"""Kernels of the kinds of layers that the measuring engine does not run: attention, recurrence, norms of a sample, tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mlperf.specs.kernels.work import Work, memory_work, pass_work
from mlperf.specs.network.layer import CELLS, Layer
from mlperf.specs.network.shape import Shape

Sources = tuple[Shape, ...]


def once(layer: Layer, _sources: Sources, target: Shape) -> Iterator[Work]:
    """One pass over what is written, called like the kind."""
    yield pass_work(layer.kind, layer.name, target.size, target)


def _once_back(layer: Layer, sources: Sources, target: Shape, _wanted: bool) -> Iterator[Work]:
    """One pass over the larger of what was read and written: gradients of the input and of the layer's own numbers."""
    yield pass_work(f"{layer.kind}_gradient", layer.name, max(sources[0].size, target.size), target)


def joined(layer: Layer, sources: Sources, target: Shape) -> Iterator[Work]:
    """Several sources put together element by element, called like the kind."""
    maps = (len(sources) * target.n_maps, target.n_maps)
    yield memory_work(layer.kind, layer.name, target.size * (len(sources) - 1), maps, target)


def _copied(layer: Layer, _sources: Sources, target: Shape) -> Iterator[Work]:
    """Maps laid out anew, one behind the other: what a concatenation does with each of its inputs."""
    yield pass_work("concat", layer.name, target.size, target)


def _copied_back(layer: Layer, _sources: Sources, target: Shape, wanted: bool) -> Iterator[Work]:
    if wanted:
        yield pass_work("concat_gradient", layer.name, target.size, target)


def _multiply_back(layer: Layer, sources: Sources, target: Shape, _wanted: bool) -> Iterator[Work]:
    """The gradient times the other factors, for every factor; sums over what was stretched are part of it."""
    maps = (len(sources) * target.n_maps, len(sources) * target.n_maps)
    yield memory_work("multiply_gradient", layer.name, target.size * len(sources), maps, target)


def _resize(layer: Layer, _sources: Sources, target: Shape) -> Iterator[Work]:
    yield pass_work(f"resize_{layer.mode}", layer.name, target.size, target)


def _resize_back(layer: Layer, sources: Sources, target: Shape, wanted: bool) -> Iterator[Work]:
    if wanted:
        yield pass_work(f"resize_{layer.mode}_gradient", layer.name, max(sources[0].size, target.size), target)


def _transposed_conv(layer: Layer, sources: Sources, target: Shape) -> Iterator[Work]:
    """The way back of a convolution run forward: a product into columns, which are folded into the larger map."""
    source, per_group = sources[0], layer.n_maps // layer.groups
    yield Work(
        "transposed_convolution",
        layer.name,
        m=source.map_size,
        n=layer.window * per_group,
        k=source.n_maps // layer.groups,
        trans="NN",
        stretched="m",
        groups=layer.groups,
        maps_in=source.n_maps,
        maps_out=layer.n_maps,
        map_size=source.map_size,
        row_size=source.width,
    )
    columns = layer.window * layer.n_maps
    yield memory_work("col2im", layer.name, source.map_size * columns, (columns, target.n_maps), source, layer.window)


def _transposed_conv_back(layer: Layer, sources: Sources, target: Shape, wanted: bool) -> Iterator[Work]:
    source, columns = sources[0], layer.window * layer.n_maps
    place = {"maps_in": source.n_maps, "maps_out": layer.n_maps, "map_size": source.map_size, "row_size": source.width}
    inputs, outputs = source.n_maps // layer.groups, columns // layer.groups
    if layer.bias:
        yield Work("dedb", layer.name, m=1, n=layer.n_maps, k=target.map_size, trans="NN", stretched="k", **place)
    yield memory_work("im2col", layer.name, source.map_size * columns, (target.n_maps, columns), source, layer.window)
    yield Work("dedw", layer.name, m=inputs, n=outputs, k=source.map_size, trans="TN", stretched="k", groups=layer.groups, **place)
    if wanted:
        yield Work(
            "dedx-conv", layer.name, m=source.map_size, n=inputs, k=outputs, trans="NT", stretched="m", groups=layer.groups, **place
        )


def _attention(layer: Layer, sources: Sources, _target: Shape) -> Iterator[Work]:
    """Projections of the tokens, queries with keys, softmax, probabilities with values, projection of the output."""
    maps, tokens, head = _attention_sizes(layer, sources)
    yield _token_product("attention_in", layer, sources, maps, 3 * maps)
    yield _head_product("attention_scores", layer, sources, (tokens, tokens, head), "NT")
    yield pass_work("attention_softmax", layer.name, layer.n_heads * tokens**2, Shape(layer.n_heads, tokens, tokens))
    yield _head_product("attention_values", layer, sources, (tokens, head, tokens), "NN")
    yield _token_product("attention_out", layer, sources, maps, maps)
    if layer.bias:
        yield pass_work("attention_bias", layer.name, 4 * sources[0].size, sources[0])


def _attention_back(layer: Layer, sources: Sources, _target: Shape, wanted: bool) -> Iterator[Work]:
    maps, tokens, head = _attention_sizes(layer, sources)
    if layer.bias:
        yield Work("dedb", layer.name, m=1, n=4 * maps, k=tokens, trans="NN", stretched="k", maps_in=maps, maps_out=4 * maps)
    yield _weight_product("dedw-attention_out", layer, tokens, maps, maps)
    yield _token_product("dedx-attention_out", layer, sources, maps, maps, "NT")
    yield _head_product("dedx-attention_softmax", layer, sources, (tokens, tokens, head), "NT")
    yield _head_product("dedx-attention_values", layer, sources, (tokens, head, tokens), "TN")
    yield pass_work("attention_softmax_gradient", layer.name, layer.n_heads * tokens**2, Shape(layer.n_heads, tokens, tokens))
    yield _head_product("dedx-attention_queries", layer, sources, (tokens, head, tokens), "NN")
    yield _head_product("dedx-attention_keys", layer, sources, (tokens, head, tokens), "TN")
    yield _weight_product("dedw-attention_in", layer, tokens, maps, 3 * maps)
    if wanted:
        yield _token_product("dedx-attention_in", layer, sources, 3 * maps, maps, "NT")


def _attend(layer: Layer, sources: Sources, target: Shape) -> Iterator[Work]:
    """Queries with keys, learnt numbers added to that, softmax, probabilities with values; in every window and head."""
    queries, keys, inner, outer = _attend_sizes(layer, sources, target)
    scores = _scores(layer, sources)
    yield _window_product("attention_scores", layer, sources[0], (queries, keys, inner), "NT")
    if layer.n_biases:
        yield pass_work("attention_bias", layer.name, scores.size, scores)
    yield pass_work("attention_softmax", layer.name, scores.size, scores)
    yield _window_product("attention_values", layer, target, (queries, outer, keys), "NN")


def _attend_back(layer: Layer, sources: Sources, target: Shape, _wanted: bool) -> Iterator[Work]:
    queries, keys, inner, outer = _attend_sizes(layer, sources, target)
    scores = _scores(layer, sources)
    yield _window_product("dedx-attention_softmax", layer, target, (queries, keys, outer), "NT")
    yield _window_product("dedx-attention_values", layer, target, (keys, outer, queries), "TN")
    yield pass_work("attention_softmax_gradient", layer.name, scores.size, scores)
    yield _window_product("dedx-attention_queries", layer, sources[0], (queries, inner, keys), "NN")
    yield _window_product("dedx-attention_keys", layer, sources[0], (keys, inner, queries), "TN")


def _attend_sizes(layer: Layer, sources: Sources, target: Shape) -> tuple[int, int, int, int]:
    """Queries and keys of a window, and maps of a head: those that are multiplied, and those of the values."""
    query, key, _ = sources
    return (
        query.map_size // layer.groups,
        key.map_size // layer.groups,
        query.n_maps // layer.n_heads,
        target.n_maps // layer.n_heads,
    )


def _scores(layer: Layer, sources: Sources) -> Shape:
    """One number for each head, query, and key of its window."""
    return Shape(layer.n_heads, sources[0].map_size, sources[1].map_size // layer.groups)


def _window_product(kernel: str, layer: Layer, shape: Shape, sizes: tuple[int, int, int], trans: str) -> Work:
    """One product for each window, head and sample, without weights."""
    m, n, k = sizes
    place = {"maps_in": shape.n_maps, "maps_out": shape.n_maps, "map_size": shape.map_size}
    return Work(kernel, layer.name, m=m, n=n, k=k, trans=trans, stretched="groups", groups=layer.n_heads * layer.groups, **place)


def _attention_sizes(layer: Layer, sources: Sources) -> tuple[int, int, int]:
    """Maps, tokens, and maps of one head."""
    return sources[0].n_maps, sources[0].map_size, sources[0].n_maps // layer.n_heads


def _token_product(kernel: str, layer: Layer, sources: Sources, inputs: int, outputs: int, trans: str = "NN") -> Work:
    """Every token's maps with the same weights."""
    tokens = sources[0].map_size
    sizes = {"m": tokens, "n": outputs, "k": inputs, "maps_in": inputs, "maps_out": outputs, "map_size": tokens}
    return Work(kernel, layer.name, trans=trans, stretched="m", **sizes)


def _weight_product(kernel: str, layer: Layer, tokens: int, inputs: int, outputs: int) -> Work:
    """The gradient by the weights of such a product."""
    sizes = {"m": inputs, "n": outputs, "k": tokens, "maps_in": inputs, "maps_out": outputs, "map_size": tokens}
    return Work(kernel, layer.name, trans="TN", stretched="k", **sizes)


def _head_product(kernel: str, layer: Layer, sources: Sources, sizes: tuple[int, int, int], trans: str) -> Work:
    """One product for each head and sample, without weights."""
    m, n, k = sizes
    maps = sources[0].n_maps
    place = {"maps_in": maps, "maps_out": maps, "map_size": sources[0].map_size}
    return Work(kernel, layer.name, m=m, n=n, k=k, trans=trans, stretched="groups", groups=layer.n_heads, **place)


def _recurrent(layer: Layer, sources: Sources, target: Shape) -> Iterator[Work]:
    """One product of all tokens with the weights of the input; then step by step one of the state, and the gates."""
    inputs, gates = sources[0].n_maps, CELLS[layer.cell] * layer.n_maps
    yield _token_product("recurrent_in", layer, sources, inputs, layer.n_directions * gates)
    yield from _steps("recurrent_step", layer, target, (gates, layer.n_maps), "NN")
    yield pass_work("recurrent_gates", layer.name, target.map_size * layer.n_directions * gates, target)


def _recurrent_back(layer: Layer, sources: Sources, target: Shape, wanted: bool) -> Iterator[Work]:
    """Gates and state from the last step to the first; gradients of the weights over all steps at once."""
    inputs, gates, tokens = sources[0].n_maps, CELLS[layer.cell] * layer.n_maps, target.map_size
    every = layer.n_directions * gates
    yield pass_work("recurrent_gates_gradient", layer.name, tokens * every, target)
    yield from _steps("dedx-recurrent_step", layer, target, (layer.n_maps, gates), "NT")
    place = {"maps_in": layer.n_maps, "maps_out": gates, "map_size": tokens}
    sizes = {"m": layer.n_maps, "n": gates, "k": tokens, "groups": layer.n_directions}
    yield Work("dedw-recurrent_step", layer.name, trans="TN", stretched="k", **sizes, **place)
    yield _weight_product("dedw-recurrent_in", layer, tokens, inputs, every)
    if layer.bias:
        yield Work("dedb", layer.name, m=1, n=every, k=tokens, trans="NN", stretched="k", maps_in=inputs, maps_out=every)
    if wanted:
        yield _token_product("dedx-recurrent_in", layer, sources, every, inputs, "NT")


def _steps(kernel: str, layer: Layer, target: Shape, sizes: tuple[int, int], trans: str) -> Iterator[Work]:
    """A product of the samples' states for each step, both directions at once: none can begin before the one before it."""
    n, k = sizes
    for _ in range(target.map_size):
        place = {"maps_in": k, "maps_out": n, "map_size": 1}
        yield Work(kernel, layer.name, m=1, n=n, k=k, trans=trans, stretched="m", groups=layer.n_directions, **place)


def nothing(_layer: Layer, _sources: Sources, _target: Shape) -> Iterator[Work]:
    """Reshapes, and kinds whose kernels are element-wise or run at the end."""
    yield from ()


def _nothing_back(_layer: Layer, _sources: Sources, _target: Shape, _wanted: bool) -> Iterator[Work]:
    yield from ()


FORWARD: Mapping[str, Callable[[Layer, Sources, Shape], Iterator[Work]]] = {
    "transposed_conv": _transposed_conv,
    "resize": _resize,
    "multiply": joined,
    "layer_norm": once,
    "group_norm": once,
    "layer_scale": once,
    "layer_shift": once,
    "prelu": once,
    "tokens": nothing,
    "unflatten": nothing,
    "class_token": once,
    "select_token": once,
    "position_embedding": once,
    "embedding": once,
    "attention": _attention,
    "attend": _attend,
    "recurrent": _recurrent,
    "part": _copied,
    "shuffle": _copied,
}

BACKWARD: Mapping[str, Callable[[Layer, Sources, Shape, bool], Iterator[Work]]] = {
    "transposed_conv": _transposed_conv_back,
    "resize": _resize_back,
    "multiply": _multiply_back,
    "layer_norm": _once_back,
    "group_norm": _once_back,
    "layer_scale": _once_back,
    "layer_shift": _once_back,
    "prelu": _once_back,
    "tokens": _nothing_back,
    "unflatten": _nothing_back,
    "class_token": _once_back,
    "select_token": _once_back,
    "position_embedding": _once_back,
    "embedding": _once_back,
    "attention": _attention_back,
    "attend": _attend_back,
    "recurrent": _recurrent_back,
    "part": _copied_back,
    "shuffle": _copied_back,
}
