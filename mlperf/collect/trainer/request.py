"""What to train, in which settings, how often, and what to wait for instead of doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from mlperf.collect.protocol.rules import above_zero, learning, link, refuse_broken
from mlperf.collect.trainer.network import EXCHANGES, Network
from mlperf.core.errors import UsageError
from mlperf.core.places import take_path
from mlperf.datasets.dictionary.trainer_schema import OLD_WEIGHTS
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.components import IMAGE_OPERATIONS, SHARE_OPERATIONS, VECTOR_OPERATIONS

PLACE = "mlperf collect asgd"
IMAGENET_SIZE = 1_281_167

WAITED: Mapping[str, tuple[str, ...]] = {
    "gradient": (*IMAGE_OPERATIONS, "compute_gradient"),
    "memory": (*VECTOR_OPERATIONS, *SHARE_OPERATIONS),
    "network": ("allreduce",),
}
"""Parts that may be waited for, and their components."""

REQUIRED: Mapping[str, str] = {"memory": "network", "network": "gradient"}
"""What must be waited for as well: without weights there is nothing to send, without messages nothing to learn from."""


@dataclass(frozen=True, slots=True)
class AsgdRequest:
    """What to run.

    Attributes
    ----------
    out : Path or str
        The campaign's folder; the same request continues an interrupted campaign.
    cnn : CnnSpec or None
        The network; None takes a small one for the digits.
    data : Path, str or None
        NumPy file with images and labels, or one of `NAMED`; None takes scikit-learn's digits.
    n_nodes, n_gpus_per_node, subbatch_sizes : tuple of int
        Every combination is a setting.
    repeats : int
        Runs of each setting, in a new random order in each repeat.
    epochs, max_updates : int
        A run ends with the update that reaches either; 0: no such limit.
    learning_rate, momentum, shift, scale, lockstep, delay, limit_s
        See `Job`.
    waits : tuple of str
        Some of ``gradient``, ``memory``, ``network``.
    rounds_from : Path, str or None
        Campaign with the measured rounds to draw waits from; None: ``out`` itself.
    backend : str
        Whose rounds of steps.csv.
    network : Network
        What an all-reduce is exchanged over where it is waited for.
    time_scale : float
        Factor on every wait: a machine that much slower, on which oversleeping weighs that much less.
    dataset_size : int
        Samples of an epoch where gradients are waited for.
    seed : int
        Of the campaign; every run has its own, derived from it.
    mpiexec : str or None
        Launcher with its arguments.
    """

    out: Path
    cnn: CnnSpec | None = None
    data: Path | str | None = None
    n_nodes: tuple[int, ...] = (2,)
    n_gpus_per_node: tuple[int, ...] = (2,)
    subbatch_sizes: tuple[int, ...] = (8,)
    repeats: int = 3
    epochs: int = 60
    max_updates: int = 0
    learning_rate: float = 0.0003
    momentum: float = 0.9
    shift: float = 0.5
    scale: float = 0.05
    lockstep: bool = False
    delay: int = 0
    limit_s: float = 300.0
    waits: tuple[str, ...] = ()
    rounds_from: Path | str | None = None
    backend: str = "numpy"
    network: Network = field(default_factory=Network)
    time_scale: float = 1.0
    dataset_size: int = IMAGENET_SIZE
    seed: int = 0
    mpiexec: str | None = None

    def __post_init__(self) -> None:
        take_path(self)

    @property
    def mode(self) -> str:
        """What every row of the run says: ``"real"``, or what was waited for and how much slower."""
        waited = "+".join(part for part in WAITED if part in self.waits)
        slower = f" x{self.time_scale:g}" if self.waits and self.time_scale != 1 else ""
        paced = (" lockstep" if self.lockstep else "") + (f" {OLD_WEIGHTS} {self.delay}" if self.delay else "")
        return (f"emulated {waited}{slower}" if waited else "real") + paced


def check_request(request: AsgdRequest) -> None:
    """Refuse what cannot be run before anything is written.

    Raises
    ------
    UsageError
        Says what is wrong and what to give instead.
    """
    for part in request.waits:
        if part not in WAITED:
            raise UsageError(f"got {part!r} to wait for, expected some of {', '.join(WAITED)}", place=PLACE)
        needed = REQUIRED.get(part)
        if needed and needed not in request.waits:
            raise UsageError(
                f"got waits for {part} without waits for {needed}",
                place=PLACE,
                hint=f"Add {needed}: nothing real would be left to do.",
            )
    rules = (
        (request.waits and (request.data is not None), "got a data set and waits for gradients, expected one of them"),
        (request.waits and request.cnn is None, "got waits and no --cnn, expected the network whose rounds were measured"),
        (request.waits and not request.max_updates, "got waits and no number of updates (--updates)"),
        (not request.waits and isinstance(request.data, Path) and request.cnn is None, "got a data set and no network for it"),
        (not (request.epochs or request.max_updates), "got neither epochs nor updates, expected an end"),
        learning(request.learning_rate, request.momentum),
        (not 0 <= request.shift < inf or not 0 <= request.scale < 1, "expected shift >= 0 and 0 <= scale < 1, both finite"),
        (request.delay < 0, "expected a delay of at least 0 updates"),
        (request.waits and request.delay, "got waits and a delay of the weights, expected one of them: what waits learns nothing"),
        above_zero({"time scale": request.time_scale, "limit": request.limit_s, "repeats": request.repeats}),
        link(request.network.bytes_per_s, request.network.latency_s),
        (request.network.exchange not in EXCHANGES, f"expected an exchange out of {', '.join(EXCHANGES)}"),
    )
    refuse_broken(rules, PLACE)
