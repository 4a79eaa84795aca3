"""One configuration: replicas, servers, and for every layer stripes, copies and threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mlperf.collect.servers.net import PLACE, Net
from mlperf.core.errors import UsageError
from mlperf.systems.model_parallel.plans import HINT, LayerPlan, read_plan

ASYNCHRONOUS, SYNCHRONOUS = EXCHANGES = ("asynchronous", "synchronous")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is run.

    Attributes
    ----------
    cnn : str
        Network.
    n_replicas, n_servers : int
        A and S; servers are needed from two replicas on.
    plan : tuple of LayerPlan
        One a layer, from the input up.
    exchange : str
        ``asynchronous``: weights are exchanged while the next mini-batch is computed; ``synchronous``: all replicas wait.
    minibatch_size : int
        Samples of a replica between two exchanges.
    """

    cnn: str
    n_replicas: int
    n_servers: int
    plan: tuple[LayerPlan, ...]
    exchange: str = ASYNCHRONOUS
    minibatch_size: int = 16

    @property
    def n_workers(self) -> int:
        """Workers of a replica: the most that any layer is spread over."""
        return max(layer.n_hosts for layer in self.plan)

    @property
    def n_ranks(self) -> int:
        """Processes."""
        return self.n_replicas * self.n_workers + self.n_servers

    @property
    def plan_text(self) -> str:
        """The plan in one word."""
        return "/".join(f"{layer.n_stripes}x{layer.n_copies}x{layer.n_threads}" for layer in self.plan)

    def to_dict(self) -> dict[str, Any]:
        """As plain values; `configuration_from` reads them."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"plan": self.plan_text}


def configuration_from(table: Mapping[str, Any], place: str = PLACE) -> Configuration:
    """A configuration of a table as read from TOML or JSON.

    Raises
    ------
    UsageError
        A key is missing or unknown, or holds something else.
    """
    known = {"cnn", "n_replicas", "n_servers", "plan", "exchange", "minibatch_size"}
    missing = {"cnn", "plan"} - set(table)
    if missing or set(table) - known:
        got = f"got {', '.join(sorted(table))}"
        raise UsageError(f"{got}, expected {', '.join(sorted(known))}, cnn and plan always", place=place, hint=HINT)
    given = {"n_replicas": 1, "n_servers": 0, "exchange": ASYNCHRONOUS, "minibatch_size": 16, **table}
    return Configuration(**{**given, "plan": read_plan(str(table["plan"]), place)})


def check_configuration(configuration: Configuration, net: Net, n_cores: int, *, emulated: bool) -> None:
    """Refuse what cannot be run, saying why.

    Raises
    ------
    UsageError
        More stripes than rows, replicas without a server, more threads than cores, not one plan a layer, a mini-batch that the
        copies and threads of a layer do not divide.
    """
    c = configuration
    rules: Sequence[tuple[bool, str]] = (
        (len(c.plan) != len(net.layers), f"got plans of {len(c.plan)} layers, expected {len(net.layers)} as {net.name} has"),
        (c.exchange not in EXCHANGES, f"got exchange {c.exchange!r}, expected one of {', '.join(EXCHANGES)}"),
        (
            c.n_replicas < 1 or c.n_servers < 0 or c.minibatch_size < 1,
            "expected at least one replica, no server or some, one sample",
        ),
        (c.n_servers > net.n_params, "got more servers than parameters"),
    )
    for broken, message in rules:
        if broken:
            raise UsageError(message, place=PLACE, hint=HINT)
    if c.n_replicas > 1 and c.n_servers == 0:
        got = f"got {c.n_replicas} replicas without a server, expected at least one"
        raise UsageError(got, place=PLACE, hint="Add --servers 1, or n_servers = 1 in a file of plans.")
    for layer, plan in zip(net.layers, c.plan, strict=True):
        if plan.n_stripes > layer.rows:
            raise UsageError(f"got {plan.n_stripes} stripes of {layer.name}, expected at most its {layer.rows} rows", place=PLACE)
        if plan.n_threads > n_cores:
            what = "their waits are measured on as many cores" if emulated else "each needs one of its own"
            got = f"got {plan.n_threads} threads in {layer.name} on {n_cores} cores"
            raise UsageError(f"{got}, expected at most as many: {what}", place=PLACE)
        if c.minibatch_size % (plan.n_copies * plan.n_threads):
            got = f"got a mini-batch of {c.minibatch_size} for {plan.n_copies} copies x {plan.n_threads} threads of {layer.name}"
            raise UsageError(f"{got}, expected a multiple", place=PLACE)
