"""Operations that steps of data- and pipeline-parallel training consist of, and which of them wait for which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperationKind:
    """One kind of operation.

    Attributes
    ----------
    name : str
        As tables call it.
    members : str
        Who takes part, of the ranks recorded: ``"alone"``; ``"outside"`` (others that are not recorded); ``"pair"`` (with a
        neighbour stage); ``"data"`` (all data-parallel ranks of a stage); ``"ends"`` (first and last stage of a data-parallel
        rank); ``"all"`` (everybody).
    group : str
        What it is counted with when what-ifs go by type of operation.
    towards : int
        Stages from a sender to its receiver: 1 for activations, -1 for gradients; 0 for other operations.
    """

    name: str
    members: str = "alone"
    group: str = ""
    towards: int = 0

    @property
    def type(self) -> str:
        """The name that results carry."""
        return self.group or self.name

    @property
    def is_exchange(self) -> bool:
        """Whether it ends only when others of the recorded ranks have come."""
        return self.members not in ("alone", "outside")

    @property
    def is_communication(self) -> bool:
        """Whether its typical time is the median, since some of its times hold waiting for others."""
        return self.members != "alone"


FORWARD, BACKWARD = "forward-compute", "backward-compute"
ALL_GATHER, REDUCE_SCATTER = "params-all-gather", "grads-reduce-scatter"

# fmt: off
_KINDS = (
    #             name                          members  group               towards
    OperationKind(ALL_GATHER,                   "data"),
    OperationKind(FORWARD),
    OperationKind("forward-recv",               "pair",  "forward-pp-comm",   1),
    OperationKind("forward-send",               "pair",  "forward-pp-comm",   1),
    OperationKind(BACKWARD),
    OperationKind("backward-recv",              "pair",  "backward-pp-comm", -1),
    OperationKind("backward-send",              "pair",  "backward-pp-comm", -1),
    OperationKind("gc"),
    # It crosses tensor-parallel ranks only, of which one in each group is recorded.
    OperationKind("layernorm-grads-all-reduce", "outside"),
    OperationKind("embedding-grads-all-reduce", "ends"),
    OperationKind(REDUCE_SCATTER,               "data"),
    OperationKind("optimizer-clip-main-grad",   "all"),
    OperationKind("optimizer"),
)
# fmt: on
OPERATION_KINDS: Mapping[str, OperationKind] = {kind.name: kind for kind in _KINDS}
"""Every operation that the rules know, by name."""

TAIL = (
    "gc",
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    REDUCE_SCATTER,
    "optimizer-clip-main-grad",
    "optimizer",
)
"""What follows the last computation of a step, one after the other."""

CHAINS = (("forward-recv",), ("forward-send",), ("backward-recv",), ("backward-send",), (ALL_GATHER, REDUCE_SCATTER), TAIL)
"""Operations of one rank that run one after the other, besides the computations, which are ordered by their start."""
