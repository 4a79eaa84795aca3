"""Exchange of gradients between the GPUs of several machines: flat, in two levels, or through servers, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.core.suggest import known_word
from mlperf.systems.base.collectives import allreduce_s, message_s, reduce_scatter_s, server_exchange_s


@dataclass(frozen=True, slots=True, eq=False)
class Links(Shown):
    """Links inside a machine and between machines; arrays broadcast with the configurations.

    Attributes
    ----------
    latency_s, bandwidth_bytes_per_s, ramp : array
        Of a message between two machines: seconds, bytes per second of a whole machine (its GPUs share it), seconds per root of a
        byte.
    local_latency_s, local_bandwidth_bytes_per_s, local_ramp : array
        The same between two GPUs of one machine; here every GPU has the bandwidth to itself.
    """

    latency_s: FloatArray
    bandwidth_bytes_per_s: FloatArray
    local_latency_s: FloatArray
    local_bandwidth_bytes_per_s: FloatArray
    ramp: FloatArray | float = 0.0
    local_ramp: FloatArray | float = 0.0


def slowest_link(links: Links, n_nodes: FloatArray) -> Links:
    """Both links replaced by the one that bounds a flat ring: the network's where there are several machines, else the local."""
    across = np.asarray(n_nodes) > 1.0
    latency_s = np.where(across, np.maximum(links.latency_s, links.local_latency_s), links.local_latency_s)
    bandwidth = np.where(
        across, np.minimum(links.bandwidth_bytes_per_s, links.local_bandwidth_bytes_per_s), links.local_bandwidth_bytes_per_s
    )
    ramp = np.where(across, links.ramp, links.local_ramp)
    return Links(latency_s, bandwidth, latency_s, bandwidth, ramp, ramp)


def flat_s(kind: str, size_bytes: FloatArray, n_nodes: FloatArray, n_local: FloatArray, links: Links) -> FloatArray:
    """An all-reduce over all GPUs in one level, as fast as its slowest link; seconds."""
    slow = slowest_link(links, n_nodes)
    return allreduce_s(kind, size_bytes, n_nodes * n_local, slow.latency_s, slow.bandwidth_bytes_per_s, slow.ramp)


def two_level_s(kind: str, size_bytes: FloatArray, n_nodes: FloatArray, n_local: FloatArray, links: Links) -> FloatArray:
    """Reduce-scatter inside each machine, all-reduces of the shards across machines, all-gather inside; seconds.

    The n shards of a machine cross at the same time and share its network, so that bandwidth is what one vector of the full size
    would need; latency is paid once a step.

    Parameters
    ----------
    kind : str
        Algorithm across machines, of `mlperf.systems.base.collectives.ALGORITHMS`; inside it is a ring.
    size_bytes, n_nodes, n_local : array
        Bytes of the vector, machines, GPUs of a machine.
    links : Links
        Inside and across.
    """
    inside = 2.0 * reduce_scatter_s(size_bytes, n_local, links.local_latency_s, links.local_bandwidth_bytes_per_s, links.local_ramp)
    shard, share = size_bytes / n_local, links.bandwidth_bytes_per_s / n_local
    return inside + allreduce_s(kind, shard, n_nodes, links.latency_s, share, links.ramp)


def switch_s(size_bytes: FloatArray, n_nodes: FloatArray, n_local: FloatArray, links: Links) -> FloatArray:
    """Sums inside a machine by its switch (each GPU sends and receives the vector once), a ring across; seconds."""
    inside = message_s(size_bytes, 2.0 * links.local_latency_s, links.local_bandwidth_bytes_per_s, links.local_ramp)
    across = allreduce_s("ring", size_bytes, n_nodes, links.latency_s, links.bandwidth_bytes_per_s, links.ramp)
    return np.asarray(np.where(n_local > 1.0, inside, 0.0) + across)


def through_servers_s(size_bytes: FloatArray, n_nodes: FloatArray, n_local: FloatArray, links: Links) -> FloatArray:
    """A sum inside each machine, then push to and pull from one server per machine that stands apart; seconds."""
    inside = 2.0 * reduce_scatter_s(size_bytes, n_local, links.local_latency_s, links.local_bandwidth_bytes_per_s, links.local_ramp)
    across = server_exchange_s(size_bytes, n_nodes, links.latency_s, links.bandwidth_bytes_per_s, links.ramp, n_nodes)
    return np.asarray(inside + np.where(n_nodes > 1.0, across, 0.0))


Form = Callable[[FloatArray, FloatArray, FloatArray, Links], FloatArray]
EXCHANGES: Mapping[str, Form] = MappingProxyType(
    {
        "two_level": lambda size, nodes, local, links: two_level_s("ring", size, nodes, local, links),
        "two_level_tree": lambda size, nodes, local, links: two_level_s("tree", size, nodes, local, links),
        "ring": lambda size, nodes, local, links: flat_s("ring", size, nodes, local, links),
        "tree": lambda size, nodes, local, links: flat_s("tree", size, nodes, local, links),
        "halving_doubling": lambda size, nodes, local, links: flat_s("halving_doubling", size, nodes, local, links),
        "switch": switch_s,
        "server": through_servers_s,
    }
)
"""Forms of an exchange by name; a form's place is its number in the setting ``exchange_form``."""
FORM_NAMES = tuple(EXCHANGES)


def exchange_s(form: str, size_bytes: FloatArray, n_nodes: FloatArray, n_local: FloatArray, links: Links) -> FloatArray:
    """Time of one sum of a vector over all GPUs, after which all have it.

    Parameters
    ----------
    form : str
        One of `EXCHANGES`.
    size_bytes, n_nodes, n_local : array, shape (n_configs,)
        Bytes of the vector; machines; GPUs of a machine; both >= 1.
    links : Links
        Inside a machine and between machines.

    Returns
    -------
    array, shape (n_configs,)
        Seconds; 0 for one GPU.

    Raises
    ------
    UsageError
        Unknown form.
    """
    known_word(form, EXCHANGES, "the exchange")
    size, nodes, local = (np.asarray(each, dtype=np.float64) for each in (size_bytes, n_nodes, n_local))
    return np.asarray(EXCHANGES[form](size, nodes, local, links))


def exchange_by_number_s(
    number: FloatArray, size_bytes: FloatArray, n_nodes: FloatArray, n_local: FloatArray, links: Links
) -> FloatArray:
    """:func:`exchange_s` with the form of each configuration given as its place in `EXCHANGES`.

    Raises
    ------
    DataError
        A number that is no form's.
    """
    number = np.asarray(number, dtype=np.float64)
    used = np.unique(number)
    wrong = used[~np.isin(used, np.arange(len(FORM_NAMES)))]
    if wrong.size:
        listed = ", ".join(f"{place} {name}" for place, name in enumerate(FORM_NAMES))
        raise DataError(f"got {wrong[0]:g} for 'exchange_form', expected one of {listed}")
    found: FloatArray = np.zeros(())
    for place in used.astype(int):
        seconds = exchange_s(FORM_NAMES[place], size_bytes, n_nodes, n_local, links)
        found = seconds if used.size == 1 else np.where(number == place, seconds, found)
    return found


def scatter_s(size_bytes: FloatArray, n_nodes: FloatArray, n_local: FloatArray, links: Links) -> FloatArray:
    """Reduce-scatter of a vector over all GPUs in two levels (ring inside, ring across); an all-gather takes as long; seconds.

    Half of the two-level ring all-reduce, (N-1)/N of the bytes through each link in all.
    """
    return np.asarray(0.5 * exchange_s("two_level", size_bytes, n_nodes, n_local, links))
