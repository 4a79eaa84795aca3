"""What counters this machine offers, found out by opening them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from mlperf.collect.counters.offers import ABSENT, Probe, SourceOffer
from mlperf.collect.counters.sources import ALL, SOURCE_NAMES, SOURCES, USUAL, Source, columns_of
from mlperf.collect.protocol.clocks import require_clocks
from mlperf.core.errors import MissingExtraError, UsageError
from mlperf.core.suggest import did_you_mean


def probe_counters(sources: Sequence[str] = SOURCE_NAMES) -> Probe:
    """Open every counter of the sources, and say which work.

    Nothing is changed on the machine and nothing needs special rights.

    Parameters
    ----------
    sources : sequence of str
        Which to ask; by default all, in the order hardware events, software events, files of the kernel, simulation.

    Raises
    ------
    UsageError
        There is no source of such a name.
    MissingExtraError
        This is not Linux.
    """
    require_clocks()
    check_names(sources)
    return Probe(tuple(offer_of(source) for source in SOURCES if source.name in sources))


def offer_of(source: Source) -> SourceOffer:
    """Probe one source in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="mlperf-probe-") as folder:
        return source.probe(columns_of(source.name), Path(folder))


def check_names(sources: Sequence[str]) -> None:
    """Accept names of the table.

    Raises
    ------
    UsageError
        Names the nearest one.
    """
    for name in sources:
        if name not in SOURCE_NAMES:
            raise UsageError(
                f"got source {name!r}, which is none", place="--sources", hint=did_you_mean(name, (*SOURCE_NAMES, ALL))
            )


def chosen_sources(asked: Sequence[str], probe: Probe) -> tuple[str, ...]:
    """Sources to count with: those asked for by name, or what there is.

    Parameters
    ----------
    asked : sequence of str
        Names; empty for the usual ones that are there, ``"all"`` for every one that is there.
    probe : Probe
        What the machine offers.

    Raises
    ------
    MissingExtraError
        One asked for by name is absent; the hint says what to install.
    """
    there = [offer.source for offer in probe.sources if offer.status != ABSENT]
    if not asked:
        # Without events of the kernel the tools that read them do no better; PAPI may.
        return tuple(name for name in there if name in USUAL)
    for name in asked:
        if name != ALL and name not in there:
            raise MissingExtraError(
                f"this source was asked for and is absent: {probe.named(name).why}",
                place=f"source {name}",
                hint=absence_hint(probe.named(name)),
            )
    return tuple(there) if ALL in asked else tuple(name for name in there if name in asked)


def absence_hint(offer: SourceOffer) -> str:
    """What to do about an absent source."""
    others = "Without --sources the command takes what is there."
    return f"Install the package {offer.package}. {others}" if offer.package else others
