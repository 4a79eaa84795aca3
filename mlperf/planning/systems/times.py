"""Component times of any system from the model of a campaign: which measured parts make up which component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest
from mlperf.planning.component_times import (
    ALLREDUCE,
    ASSUMED,
    BYTES_PER_PARAM,
    FITTED_HERE,
    GRADIENT,
    NO_TIME,
    NONE_NEEDED,
    NOT_MEASURED,
    OTHER_MACHINE,
    ComponentMean,
    Draws,
    component_draws,
    component_mean,
    draw_times,
    is_measured,
    predict_times,
)
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.planning.step_prediction import StepCalls, step_spreads
from mlperf.specs.optimizers import MOMENTUM_SGD, optimizer, pass_ratio
from mlperf.systems.base.system import System, SystemComponent
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.components import FITTED, SHARE_OPERATIONS
from mlperf.systems.sprint.system import SPREADS
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.elsewhere import other_machine
from mlperf.training.gradient.gradient import PREDICTOR, GradientModel, step_times
from mlperf.training.model import Model

EXCHANGE, MEASURED_EXCHANGE = "exchange", "model of the exchange"
NORMAL_95 = 1.96
LAST_FORWARD = "softmax"
"""The kernel that ends a forward pass in every form of a step."""
ONE_OF_THREE = 1.0 / 3.0

PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "input": ("load_image", "deform_image"),
        "compute": (GRADIENT,),
        "forward": (GRADIENT,),
        "backward": (GRADIENT,),
        "optimizer": ("add_momentum", "update_momentum", "update_weights"),
        "apply": ("add_momentum", "update_momentum", "update_weights"),
        "exchange": ("allreduce",),
        **{component.name: (component.name,) for component in FITTED},
    }
)
"""Component of a system to the measured ones (Tables 3 and 4 of the SPRINT paper) whose times add up to it."""

ON_DEVICE, PASSES_ON_DEVICE = "compute_update_value", 2
"""What reads and writes one vector in a device's memory: the gradient, multiplied by the learning rate."""

MESSAGES = ("push", "pull")
"""What travels between a worker and its servers: gradients, weights."""

PASSES = ("compute", "forward", "backward")
"""What a whole step was measured of."""

APPLY = "apply"
SUM_OF_BUFFERS = {APPLY: "sum_gradient"}
"""Where SPRINT's threads meet a server: it adds a node's vector to its own as a thread adds a GPU's."""

FROM_NETWORK = (EXCHANGE, "gather", "tensor_exchange", "transfer")
"""What a system works out itself from the machine's network where nobody measured it."""


@dataclass(frozen=True, slots=True, eq=False)
class SystemTimes:
    """Mean component times of configurations for one system.

    Attributes
    ----------
    seconds : mapping of str to array, shape (n_configs,)
        By component, and ``f"{name}_std"``: what `System.solve` takes.
    in_domain : mapping of str to array of bool, shape (n_configs,)
        By component.
    source : mapping of str to str
        By component: ``model``, ``model of another machine``, ``assumed``, ``not measured, counted as 0``.
    forward_share : array, shape (n_configs,)
        Of a step, what its forward pass takes.
    other_machine : tuple of str
        How the machine asked about differs from the measured one.
    """

    seconds: Mapping[str, FloatArray]
    in_domain: Mapping[str, BoolArray]
    source: Mapping[str, str]
    forward_share: FloatArray
    other_machine: tuple[str, ...] = ()

    def scaled(self, factors: Mapping[str, float]) -> SystemTimes:
        """The same with components multiplied.

        Raises
        ------
        UsageError
            A name is no component that has a time.
        """
        seconds = dict(self.seconds)
        known = [each for each in seconds if not each.endswith("_std")]
        for name, factor in factors.items():
            if name not in seconds and self.source.get(name) in NO_TIME:
                why, hint = NO_TIME[self.source[name]]
                raise UsageError(f"got a factor for component {name!r}, which {why}", hint=hint)
            if name not in seconds:
                raise self._unknown(name, known)
            seconds |= {each: seconds[each] * factor for each in (name, f"{name}_std") if each in seconds}
        return replace(self, seconds=seconds)

    def _unknown(self, name: str, known: Sequence[str]) -> UsageError:
        """The error for a name that no component has: which one is meant, and what to change where that one has no time."""
        other = [each for each in self.source if name in PARTS.get(each, ()) or each in PARTS.get(name, ())]
        meant = str(other[0] if len(other) == 1 else nearest(name, [*known, *self.source]))
        why, remedy = ("", "") if meant in known else NO_TIME.get(self.source.get(meant, ""), ("", ""))
        hint = f"Did you mean {meant!r}?" if meant in self.source else ""
        hint += f" That is one which {why}. {remedy}" if why else ""
        return UsageError(f"got component {name!r}, expected one of {', '.join(known)}", hint=hint)


def system_times(
    model: Model, inputs: ConfigurationInputs, system: System, method: str = PREDICTOR, exchange: ExchangeModel | None = None
) -> SystemTimes:
    """Mean times of every component that the model can give.

    Parameters
    ----------
    model : Model
        Of a campaign.
    inputs : ConfigurationInputs
        The configurations.
    system : System
        Whose component table is looked up in `PARTS`; a component that is not there, or that nobody measured, is left to the
        equations (``exchange``, from the machine's network) or counted as 0 and named.
    method : str
        Of kernel times.
    exchange : ExchangeModel, optional
        Gives ``exchange`` of the gradients' bytes over all workers; where it does, nothing of it is assumed.

    Raises
    ------
    UsageError
        A component that the system needs cannot come from a campaign; or an exchange for a system that has none.
    """
    if exchange is not None and EXCHANGE not in {component.name for component in system.components}:
        raise UsageError(f"got a model of an exchange, but the system {system.name!r} has no {EXCHANGE!r}", hint="Leave it out.")
    if keeps_threads(system):
        return _times_of_threads(model, inputs, system, method)
    seconds: dict[str, FloatArray] = {}
    in_domain: dict[str, BoolArray] = {}
    source: dict[str, str] = {}
    known: dict[str, ComponentMean] = {}
    asked, forward = of_system(inputs), forward_share(model, inputs.steps, method)
    for component in system.components:
        name = component.name
        if component.kind == "coupling":
            continue
        if name == EXCHANGE and exchange is not None:
            asked_of = exchange_arguments(inputs)
            seconds[name], in_domain[name] = exchange.predict(*asked_of), exchange.in_domain(*asked_of)
            source[name] = MEASURED_EXCHANGE
            continue
        parts = measured_parts(model, name)
        if not parts and name in MESSAGES:
            seconds[name], in_domain[name] = message_times(inputs, name), np.zeros(len(inputs.configs), bool)
            source[name] = ASSUMED
            continue
        if not parts:
            if component.needed:
                hint = "Train the system on a table of its own steps: mlperf train steps.csv --system NAME."
                got = f"the model of a campaign does not give {name!r}, which the system {system.name!r} needs"
                raise UsageError(got, hint=hint)
            # A single worker exchanges nothing.
            in_domain[name] = alone_in(inputs)
            source[name] = ASSUMED if name in FROM_NETWORK else NOT_MEASURED
            continue
        for part in parts:
            if part not in known:
                known[part] = component_mean(model, asked, part, method)
        means = [known[part] for part in parts]
        seconds[name] = share_of(component, forward, inputs.configs) * np.sum(
            [optimizer_ratio(part, inputs.optimizer, name) * mean.seconds for part, mean in zip(parts, means, strict=True)], axis=0
        )
        in_domain[name] = np.logical_and.reduce([mean.inside for mean in means])
        other_optimizer = inputs.optimizer != MOMENTUM_SGD and any(part in SHARE_OPERATIONS for part in parts)
        source[name] = ASSUMED if updates_on_device(model, name) or other_optimizer else FITTED_HERE
    seconds |= pass_spreads(seconds, step_spreads(model, inputs.steps, method))
    differences = other_machine(model, inputs.machine)
    if differences:
        source = {name: OTHER_MACHINE if where == FITTED_HERE else where for name, where in source.items()}
        in_domain = {name: np.zeros_like(inside) for name, inside in in_domain.items()}
    return SystemTimes(seconds, in_domain, source, forward, differences)


def pass_spreads(seconds: Mapping[str, FloatArray], step_spread: FloatArray) -> dict[str, FloatArray]:
    """Standard deviation of each pass, ``f"{name}_std"``: seconds, as large a share of each.

    Passes vary by themselves in a system's equations; the step that they make up varies as it was measured to.

    Parameters
    ----------
    seconds : mapping of str to array, shape (n_configs,)
        Mean times by component.
    step_spread : array, shape (n_configs,)
        Standard deviation of a whole step over its mean.
    """
    passes = {name: seconds[name] for name in PASSES if name in seconds}
    whole, apart = sum(passes.values(), np.zeros(())), np.sqrt(sum((each**2 for each in passes.values()), np.zeros(())))
    share = step_spread * np.divide(whole, apart, out=np.ones(np.shape(whole)), where=apart > 0.0)
    return {f"{name}_std": share * each for name, each in passes.items()}


def message_times(inputs: ConfigurationInputs, name: str) -> FloatArray:
    """Seconds of sending all gradients, or fetching all weights, from the machine's figures, shape (n_configs,).

    Raises
    ------
    DataError
        The machine's specification has no network.
    """
    machine = inputs.machine
    if machine.latency_s is None or machine.bandwidth_bytes_per_s is None:
        hint = "Give latency_s and bandwidth_bytes_per_s of its network."
        got = f"component {name!r} was not measured and the machine's specification does not give it"
        raise DataError(got, place=f"machine {machine.name!r}", hint=hint)
    size = BYTES_PER_PARAM * inputs.columns["n_params"].to_numpy(float)
    return np.asarray(machine.latency_s + size / machine.bandwidth_bytes_per_s)


def exchange_arguments(inputs: ConfigurationInputs) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Workers, bytes of the gradients, and machines of each configuration, as a model of an exchange asks for them."""
    n_nodes = inputs.configs["n_nodes"].to_numpy(float)
    workers = n_nodes * inputs.configs["n_gpus_per_node"].to_numpy(float)
    return workers, BYTES_PER_PARAM * inputs.columns["n_params"].to_numpy(float), n_nodes


def draw_exchange(exchange: ExchangeModel, inputs: ConfigurationInputs, mean: FloatArray, draws: Draws) -> FloatArray:
    """Draws of an exchange, shape (n_draws, n_configs): log-normal, to either side as wide as its interval.

    One number a draw for all configurations: an exchange that is slower than its model is so at every size alike.
    """
    interval = exchange.predict_interval(*exchange_arguments(inputs), level=0.95)
    with np.errstate(divide="ignore", invalid="ignore"):
        above, below = (
            np.where(mean > 0.0, np.log(ratio) / NORMAL_95, 0.0) for ratio in (interval.upper / mean, mean / interval.lower)
        )
    strays = draws.rng.standard_normal(draws.n_draws)[:, None]
    return np.asarray(mean * np.exp(strays * np.where(strays > 0.0, above, below)))


def draw_system_times(
    model: Model,
    inputs: ConfigurationInputs,
    system: System,
    means: SystemTimes,
    draws: Draws,
    exchange: ExchangeModel | None = None,
) -> dict[str, FloatArray]:
    """Joint draws of the component times, shape (n_draws, n_configs) each; what has no model does not vary."""
    if keeps_threads(system):
        predicted = predict_times(model, inputs, draws.method)
        kind, n_draws = draws.kind, draws.n_draws
        return _by_name(draw_times(model, inputs, predicted, kind=kind, n_draws=n_draws, rng=draws.rng), system)
    asked = of_system(inputs)
    drawn: dict[str, FloatArray] = {}
    found: dict[str, FloatArray] = {}
    components = {component.name: component for component in system.components}
    for name, mean in means.seconds.items():
        if name.endswith("_std"):
            continue
        if name == EXCHANGE and exchange is not None:
            found[name] = draw_exchange(exchange, inputs, mean, draws)
            continue
        for part in measured_parts(model, name):
            if part not in drawn:
                drawn[part] = component_draws(model, asked, part, component_mean(model, asked, part, draws.method).seconds, draws)
        ratio = share_of(components[name], means.forward_share, inputs.configs)
        ratios = {part: optimizer_ratio(part, inputs.optimizer, name) for part in measured_parts(model, name)}
        total = np.sum([factor * drawn[part] for part, factor in ratios.items()], axis=0)
        found[name] = np.maximum(ratio * total, 0.0) if np.ndim(total) else mean
        if f"{name}_std" in means.seconds:
            found[f"{name}_std"] = means.seconds[f"{name}_std"]
    return found


def keeps_threads(system: System) -> bool:
    """Whether a system has all components of SPRINT's two threads: then the times are SPRINT's, spreads included."""
    own = {component.name for component in system.components}
    return own.issuperset(component.name for component in FITTED if component.name != ALLREDUCE)


def of_system(inputs: ConfigurationInputs) -> ConfigurationInputs:
    """The configurations where every worker updates all weights: only SPRINT's nodes share the momentum among them."""
    return replace(inputs, columns=inputs.columns.assign(params_share=inputs.columns["n_params"]))


def _times_of_threads(model: Model, inputs: ConfigurationInputs, system: System, method: str) -> SystemTimes:
    """Times of SPRINT's threads; what else the system has works like the sum of a buffer, or is unknown."""
    predicted = predict_times(model, inputs, method)
    seconds = _by_name(predicted.times, system)
    names = [component.name for component in system.components if component.kind != "coupling"]
    given = SUM_OF_BUFFERS if APPLY in seconds else {}
    in_domain = {name: predicted.in_domain[given.get(name, name)] for name in names if given.get(name, name) in predicted.in_domain}
    source = {name: predicted.source[given.get(name, name)] for name in names if given.get(name, name) in predicted.source}
    if ALLREDUCE not in names:
        # The equations work the exchange with the servers out of the machine's network; one node has it, too.
        source[ALLREDUCE], in_domain[ALLREDUCE] = ASSUMED, np.zeros(len(inputs.configs), bool)
    return SystemTimes(seconds, in_domain, source, np.full(len(inputs.configs), np.nan), predicted.other_machine)


def alone_in(inputs: ConfigurationInputs) -> BoolArray:
    """Configurations of a single worker, shape (n_configs,): it exchanges nothing."""
    return (inputs.configs[["n_nodes", "n_gpus_per_node"]] == 1).all(axis=1).to_numpy(bool)


def told_source(inputs: ConfigurationInputs, source: Mapping[str, str]) -> dict[str, str]:
    """Where components come from, as users are told: nobody assumes an exchange that no configuration has."""
    alone = bool(alone_in(inputs).all())
    return {name: NONE_NEEDED if alone and where == ASSUMED and name in FROM_NETWORK else where for name, where in source.items()}


def _by_name(times: ComponentTimes, system: System) -> dict[str, FloatArray]:
    """Times of SPRINT's components and their spreads as `System.solve` takes them."""
    own = {component.name for component in system.components}
    found = {component.name: getattr(times, component.column) for component in FITTED if component.name in own}
    found |= {name: getattr(times, f"{part}_s") for name, part in SUM_OF_BUFFERS.items() if name in own}
    spreads = {f"{name}_std": getattr(times, field) for name, field in SPREADS.items()}
    return found | {name: value for name, value in spreads.items() if value is not None}


def measured_parts(model: Model, name: str) -> tuple[str, ...]:
    """The parts of a component that a model gives from measurements; of an exchange all or none."""
    if updates_on_device(model, name):
        return (ON_DEVICE,)
    return tuple(part for part in PARTS.get(name, ()) if is_measured(model, part))


def updates_on_device(model: Model, name: str) -> bool:
    """Whether a component updates weights in a device's memory, where SPRINT's threads did so on the host that was measured."""
    on_device = isinstance(model.gradient, GradientModel) and model.gradient.launches is not None
    return name == "optimizer" and on_device and is_measured(model, ON_DEVICE)


def forward_share(model: Model, steps: StepCalls, method: str = PREDICTOR) -> FloatArray:
    """Share of each configuration's step that its forward pass takes, shape (n_configs,), from the predicted kernel times.

    A third where the model knows whole steps only: a layer's way back makes two products for the one of its way forth.
    """
    calls = steps.calls
    if not len(calls) or LAST_FORWARD not in set(calls["kernel"]):
        return np.full(len(steps.number), ONE_OF_THREE)
    time_s = pd.Series(steps.call_times(model.gradient, method), index=calls.index)
    position = calls.groupby("run", sort=False).cumcount()
    last = position.where(calls["kernel"] == LAST_FORWARD).groupby(calls["run"], sort=False).transform("max")
    forward = step_times(calls, np.asarray(time_s.where(position <= last, 0.0), np.float64))
    return np.asarray((forward / step_times(calls, np.asarray(time_s, np.float64)))[steps.number])


def share_of(component: SystemComponent, forward: FloatArray, configs: pd.DataFrame) -> FloatArray | float:
    """What a component takes of the measured parts it is made of: one pass, one GPU's share, one sample's."""
    samples = configs["subbatch_size"].to_numpy(float) if component.per_sample else 1.0
    return _share(component.name, forward) * worker_share(component.name, configs) / samples


def _share(name: str, forward: FloatArray) -> FloatArray | float:
    return {"forward": forward, "backward": 1.0 - forward}.get(name, 1.0)


def worker_share(name: str, configs: pd.DataFrame) -> FloatArray | float:
    """Share of the whole network's work that one GPU does, shape (n_configs,): of pipelines and tensor groups, of sharded state."""
    if name not in ("forward", "backward", "optimizer"):
        return 1.0
    parts = np.ones(len(configs))
    for setting in ("stages", "tensor"):
        parts = parts * (configs[setting].to_numpy(float) if setting in configs else 1.0)
    if name == "optimizer" and "zero_stage" in configs:
        parts = parts * (configs["n_nodes"] * configs["n_gpus_per_node"]).to_numpy(float)
    return np.asarray(1.0 / parts)


def optimizer_ratio(part: str, name: str, component: str) -> float:
    """Passes over vectors of the optimizer ``name`` over those that were measured, for the parts that it changes."""
    if component == "optimizer" and part == ON_DEVICE:
        return optimizer(name).n_passes / PASSES_ON_DEVICE
    return pass_ratio(name) if name != MOMENTUM_SGD and part in SHARE_OPERATIONS else 1.0
