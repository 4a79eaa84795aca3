"""A network of the SPRINT form from the numbers of Table 1 of Oyama et al."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlperf.core.errors import DataError
from mlperf.specs.network.layer import Layer


def sprint_layers(
    input_size: int, n_maps: Sequence[int], pools_after: Sequence[int], n_conv: int | None, filter_size: int, *, floor: bool
) -> Iterator[Layer]:
    """Layers in execution order; arguments as in `CnnSpec.from_sprint`.

    Raises
    ------
    DataError
        An argument of the wrong kind, or an odd map before a pool without ``floor``.
    """
    _check_numbers(input_size, n_maps, filter_size)
    n_layers = len(n_maps) - 1
    convs = n_layers if n_conv is None else n_conv
    _check_places(convs, n_layers, pools_after)
    size = input_size
    for number in range(1, n_layers + 1):
        is_conv = number <= convs
        yield _weighted(number, n_maps[number], filter_size if is_conv else 0)
        size = size - filter_size + 1 if is_conv else 1
        if number < n_layers:
            yield Layer(f"relu{number}", "activation")
        if number in pools_after:
            check_division(f"pool{number}", size, 2, floor=floor)
            yield Layer(f"pool{number}", "pool", filter_size=(2, 2))
            size //= 2


def check_division(layer: str, size: int, pool: int, *, floor: bool) -> None:
    """The division x' / p must be exact unless ``floor`` says that dropping the last row and column is meant.

    Raises
    ------
    DataError
        Names the layer, x' and p.
    """
    if size % pool and not floor:
        raise DataError(
            f"got x' = {size} with p = {pool}, expected an exact division",
            place=f"layer {layer!r}",
            hint="Change the input size or the place of the pool, or ask for floor=True to drop the last row and column.",
        )


def _weighted(number: int, n_maps: int, filter_size: int) -> Layer:
    if filter_size:
        return Layer(f"conv{number}", "conv", n_maps=n_maps, filter_size=(filter_size, filter_size))
    return Layer(f"fc{number}", "fc", n_maps=n_maps)


def _check_numbers(input_size: int, n_maps: Sequence[int], filter_size: int) -> None:
    if not isinstance(n_maps, (tuple, list)) or len(n_maps) < 2:
        raise _argument_error("n_maps", n_maps, "a list of m_0 to m_L, at least two", "m_0 are the maps of the input.")
    for name, numbers in (("input_size", (input_size,)), ("filter_size", (filter_size,)), ("n_maps", n_maps)):
        for number in numbers:
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise _argument_error(name, number, "a whole number >= 1", "Table 1 of Oyama et al. lists these numbers.")


def _check_places(n_conv: int, n_layers: int, pools_after: Sequence[int]) -> None:
    if not isinstance(n_conv, int) or not 0 <= n_conv <= n_layers:
        hint = "n_maps lists m_0 (input) to m_L."
        raise _argument_error("n_conv", n_conv, f"0 .. {n_layers}, the number of layers with weights", hint)
    if not isinstance(pools_after, (tuple, list)) or not all(isinstance(each, int) and 1 <= each <= n_conv for each in pools_after):
        hint = "Only convolutions are pooled in this form."
        raise _argument_error("pools_after", pools_after, f"a list of numbers of convolutions, each 1 .. {n_conv}", hint)


def _argument_error(argument: str, got: object, expected: str, hint: str) -> DataError:
    return DataError(f"got {got!r}, expected {expected}", place=f"SPRINT form, {argument}", hint=hint)
