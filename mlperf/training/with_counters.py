"""A model with terms of counters, given counters of the networks that are to be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlperf.collect.counters.kernel_counters import count_kernels
from mlperf.core.errors import DataError, UsageError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.characteristics.description import counters_of
from mlperf.training.characteristics.stored import SURROGATE
from mlperf.training.gradient.gradient import GradientModel
from mlperf.training.model import Model


def with_counters(model: Model, cnns: Sequence[CnnSpec], subbatch_size: int | Sequence[int], source: str) -> Model:
    """The model with counters for networks that it was not trained on.

    Parameters
    ----------
    model : Model
        Trained with a dynamic set.
    cnns : sequence of CnnSpec
        Networks to predict.
    subbatch_size : int or sequence of int
        Samples of a step.
    source : str
        ``"short run"``: run a few steps of each here, on the backend that was trained on, and count; ``"cache model"``: the
        stored models of counters.

    Raises
    ------
    UsageError
        The model has no terms of counters, or its backend cannot be counted.
    MissingExtraError
        Layers of torch are to be run and torch is not installed.
    DataError
        This machine does not count something that the model reads; names the columns.
    """
    gradient = model.gradient
    found = gradient.characteristics if isinstance(gradient, GradientModel) else None
    if not isinstance(gradient, GradientModel) or found is None or not found.dynamic:
        raise UsageError("got a model without terms of counters", hint="Leave --profile-run and --surrogates out.")
    if source == SURROGATE:
        bound = replace(found, counters_from=source)
        return replace(model, gradient=replace(gradient, kernels=found.stand_in, characteristics=bound))
    sizes = [subbatch_size] if isinstance(subbatch_size, int) else list(subbatch_size)
    counted = count_kernels([(cnn, size) for cnn in cnns for size in sizes], gradient.backend)
    missing = {name: why for name, why in counted.absent.items() if name in found.dynamic}
    if missing:
        raise DataError(
            f"is missing {', '.join(missing)}: {next(iter(missing.values()))}",
            place="counters of the short run",
            hint="Let models of the counters stand in: --surrogates.",
        )
    counters = counters_of(counted.frame, gradient.backend, "counters of the short run")
    bound = replace(found, counters=counters, counters_from=source)
    return replace(model, gradient=replace(gradient, characteristics=bound))
