"""Gradient data with the characteristics that a training asks for, and the methods that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.features.network.kernels import LIBRARY, form_of
from mlperf.features.network_engine import SETS
from mlperf.training.characteristics.description import (
    FOLDER,
    MIX_FILE,
    EngineDescription,
    campaign_counters,
    describe_calls,
    description_of,
    joined_columns,
)
from mlperf.training.characteristics.stored import Characteristics
from mlperf.training.characteristics.surrogates import fit_surrogates
from mlperf.training.gradient.gradient import METHODS, Method, fit_gradient, methods_with
from mlperf.training.gradient.gradient_data import GradientData

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

ENGINE = "numpy"
DEFAULT_SETS = ("swc-s",)


@dataclass(frozen=True, slots=True, eq=False)
class GradientCharacteristics:
    """What a training knows in addition to sizes, FLOPs and bytes.

    Attributes
    ----------
    sets : tuple of str
        Keys of `SETS`, in their order; none: nothing.
    data : GradientData
        Calls with the columns of the sets.
    description : EngineDescription or None
        Of the machine; None for library layers.
    """

    sets: tuple[str, ...]
    data: GradientData
    description: EngineDescription | None

    @classmethod
    def of(
        cls, campaign: Campaign, data: GradientData, sets: Sequence[str] | None, counters: Path | None = None
    ) -> GradientCharacteristics:
        """Add the columns of ``sets``, by default those that cost nothing (`default_sets`), to the calls.

        Raises
        ------
        DataError
            No instruction mix for ``swc-o``, no counters for ``dwc-b``, or a call without a row among them.
        UsageError
            Unknown set, or one that describes loops of the NumPy engine, for calls of a library.
        """
        chosen = default_sets(campaign, data.backend) if sets is None else checked_sets(sets)
        if not chosen:
            return cls((), data, None)
        if form_of(data.calls["kernel"]) is LIBRARY:
            check_library_sets(chosen, data.backend)
            description, calls = None, data.calls
        else:
            description = described_machine(campaign, chosen)
            calls = describe_calls(data.calls, campaign.cnns, description)
        if any(SETS[name].dynamic for name in chosen):
            calls = joined_columns(calls, campaign_counters(campaign, data.backend, counters), "kernel counters")
        return cls(chosen, replace(data, calls=calls), description)

    @property
    def table(self) -> Mapping[str, Method]:
        """The methods with the terms of the sets as candidates."""
        return methods_with(*terms_of(self.sets, self.data.calls)) if self.sets else METHODS

    @property
    def dynamic(self) -> bool:
        """Whether some columns come from a run."""
        return any(SETS[name].dynamic for name in self.sets)

    def complete(self, trained: pd.DataFrame, left_out: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both with counters by models of them, fitted on the first: what is fitted must know what a prediction will know."""
        if not self.dynamic:
            return trained, left_out
        surrogates = fit_surrogates(trained)
        return surrogates.replaced(trained), surrogates.replaced(left_out)

    def stored(self, seed: int = 0) -> Characteristics | None:
        """What the model keeps of this."""
        if not self.sets:
            return None
        if not self.dynamic:
            return Characteristics(self.sets, self.description, None)
        surrogates = fit_surrogates(self.data.calls)
        stand_in = fit_gradient(surrogates.replaced(self.data.calls), None, self.data.backend, table=self.table, seed=seed)
        return Characteristics(self.sets, self.description, surrogates, stand_in.kernels)


def described_machine(campaign: Campaign, sets: Sequence[str]) -> EngineDescription:
    """Caches and libraries of the campaign's machine, as far as the sets read them.

    Raises
    ------
    DataError
        No instruction mix for ``swc-o``.
    """
    description = description_of(campaign, instructions=tuple(sets) != DEFAULT_SETS)
    if "swc-o" in sets and description.mix is None:
        raise DataError(
            "got no instruction mix of the campaign's libraries, expected one for swc-o",
            place=str(campaign.path / FOLDER / MIX_FILE),
            hint="Read it on the machine of the campaign: mlperf features engine -o instructions.csv.",
        )
    return description


def check_library_sets(sets: Sequence[str], backend: str) -> None:
    """Accept sets that describe calls of a library.

    Raises
    ------
    UsageError
        One describes loops of the NumPy engine.
    """
    static = [name for name in sets if not SETS[name].dynamic]
    if static:
        known = ", ".join(name for name in SETS if SETS[name].dynamic)
        raise UsageError(
            f"got {static[0]} for library layers (backend {backend!r}), expected {known} or none",
            hint=f"{static[0]} describes the loops of the NumPy engine; those of a library are not known.",
        )


def default_sets(campaign: Campaign, backend: str) -> tuple[str, ...]:
    """Sets that need no run and no tool: static ones of the NumPy engine, on a machine whose caches are known."""
    known = campaign.cache_bytes
    return DEFAULT_SETS if backend == ENGINE and known else ()


def checked_sets(sets: Sequence[str]) -> tuple[str, ...]:
    """The sets in their own order.

    Raises
    ------
    UsageError
        One is unknown.
    """
    unknown = [name for name in sets if name not in SETS]
    if unknown:
        raise UsageError(f"got {unknown[0]!r}, expected some of {', '.join(SETS)}", hint=nearest_hint(unknown[0], SETS))
    return tuple(name for name in SETS if name in sets)


def terms_of(sets: Sequence[str], calls: pd.DataFrame) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Candidate terms of the sets whose columns the calls have, for memory-bound kernels and for products."""
    memory = tuple(term for name in sets for term in SETS[name].memory_terms if term in calls)
    return memory, tuple(term for name in sets for term in SETS[name].gemm_terms if term in calls)
