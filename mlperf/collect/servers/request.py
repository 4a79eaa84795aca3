"""What to run, and what to wait for instead of doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlperf.collect.canonical.build import check_code
from mlperf.collect.protocol.network import NETWORK
from mlperf.collect.protocol.rules import above_zero, link, refuse_broken
from mlperf.collect.servers.configuration import Configuration
from mlperf.collect.servers.net import PLACE, shipped_nets
from mlperf.core.errors import UsageError
from mlperf.core.places import take_path
from mlperf.specs.network.cnn import CnnSpec

COMPUTE = "compute"
WAITED = (COMPUTE, NETWORK)
WARM_MINIBATCHES = 1
"""Of every replica: not counted, as nothing was under way before the first."""


@dataclass(frozen=True, slots=True)
class EmulatedNetwork:
    """A network that is waited for.

    Attributes
    ----------
    latency_s : float
        Of a message between two machines.
    latency_per_thread_s : float
        What each further thread of a segment adds to it.
    bytes_per_s : float
        Of a machine's link.
    """

    latency_s: float = 5e-6
    latency_per_thread_s: float = 0.0
    bytes_per_s: float = 6e9


@dataclass(frozen=True, slots=True)
class ServersRequest:
    """What to run.

    Attributes
    ----------
    out : Path or str
        Folder; gets ``ps_runs.csv``, ``host.json``, ``cnns/``, ``segments.csv`` where segments are waited for, and ``ps/`` with
        the records of every run. The same request goes on where it was stopped.
    configurations : tuple of Configuration
        Each is a setting.
    repeats : int
        Runs of each, in a new random order in each repeat.
    minibatches : int
        Of every replica in a run.
    epochs : int
        Passes over the data behind the accuracy: what the run itself has not learnt is learnt on without a clock. 0: the run's own.
    learning_rate : float
        Step for the mean gradient of a mini-batch.
    code : str
        ``blas`` or ``scalar``, see `mlperf.collect.canonical.build`.
    waits : tuple of str
        ``compute``: segments take the time that the trainer's own loops took alone, ``network``: messages that of ``network``.
    network : EmulatedNetwork
        Where messages are waited for.
    time_scale : float
        Factor on every wait: a machine that much slower, so that a few cores can host many ranks.
    cnns : mapping of str to CnnSpec
        Networks by the names that configurations use.
    limit_s : float
        Longest silence between ranks.
    seed : int
        Of order, weights, samples and waits.
    mpiexec : str or None
        Launcher with its arguments.
    """

    out: Path
    configurations: tuple[Configuration, ...]
    repeats: int = 2
    minibatches: int = 8
    epochs: int = 5
    learning_rate: float = 0.01
    code: str = "blas"
    waits: tuple[str, ...] = ()
    network: EmulatedNetwork = field(default_factory=EmulatedNetwork)
    time_scale: float = 100.0
    cnns: Mapping[str, CnnSpec] = field(default_factory=shipped_nets)
    limit_s: float = 120.0
    seed: int = 0
    mpiexec: str | None = None

    def __post_init__(self) -> None:
        take_path(self)

    @property
    def mode(self) -> str:
        """What every row says: ``real``, or what was waited for and how much slower."""
        waited = "+".join(part for part in WAITED if part in self.waits)
        return f"emulated {waited} x{self.time_scale:g}" if waited else "real"

    @property
    def link(self) -> tuple[float, ...]:
        """Numbers of the link as they are waited; none where messages are real."""
        net, scale = self.network, self.time_scale
        return (scale * net.latency_s, scale * net.latency_per_thread_s, scale / net.bytes_per_s) if NETWORK in self.waits else ()


def check_request(request: ServersRequest) -> None:
    """Refuse what cannot be run before anything is written.

    Raises
    ------
    UsageError
        Says what is wrong.
    """
    check_code(request.code)
    for part in request.waits:
        if part not in WAITED:
            raise UsageError(f"got {part!r} to wait for, expected some of {', '.join(WAITED)}", place=PLACE)
    net = request.network
    rules = (
        (NETWORK in request.waits and COMPUTE not in request.waits, "got waits for the network without waits for compute"),
        (not request.configurations, "got no configuration, expected --plan or --plans"),
        (len(set(request.configurations)) < len(request.configurations), "got a configuration twice, expected --repeats for that"),
        (request.repeats < 1 or request.epochs < 0, "expected one repeat or more, and no epoch or more"),
        (request.minibatches <= WARM_MINIBATCHES, f"expected more than {WARM_MINIBATCHES} mini-batches: the first are not counted"),
        above_zero({"learning rate": request.learning_rate, "time scale": request.time_scale, "limit": request.limit_s}),
        link(net.bytes_per_s, net.latency_s, net.latency_per_thread_s),
    )
    refuse_broken(rules, PLACE)
    for configuration in request.configurations:
        if configuration.cnn not in request.cnns:
            got = f"got the network {configuration.cnn!r}, expected one of {', '.join(request.cnns)}"
            raise UsageError(got, place=PLACE, hint="Name its file with --cnn.")
