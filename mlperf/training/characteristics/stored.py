"""The characteristics that a trained model reads, and where those of an unseen CNN come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import plain
from mlperf.features.network_engine import SETS
from mlperf.features.network_engine.instructions import InstructionMix
from mlperf.features.network_engine.products import Blocking
from mlperf.features.source.caches import CacheLevel
from mlperf.training.characteristics.description import EngineDescription, describe_calls, joined_columns
from mlperf.training.characteristics.surrogates import Surrogates
from mlperf.training.fits.ratio_model import Fits, fits_from_dict, fits_to_dict

if TYPE_CHECKING:
    from mlperf.specs.network.cnn import CnnSpec

RUN, SURROGATE = "short run", "cache model"


@dataclass(frozen=True, slots=True, eq=False)
class Characteristics:
    """What a gradient model needs to know of kernel calls beside their sizes.

    Attributes
    ----------
    sets : tuple of str
        Keys of `mlperf.features.network_engine.SETS`.
    description : EngineDescription
        Caches and libraries of the machine that was trained on.
    surrogates : Surrogates or None
        Models of the counters; None without a dynamic set.
    stand_in : mapping
        Kernel models that were fitted on those models' answers in place of counters, as `GradientModel.kernels`.
    counters : DataFrame or None
        Counters of a short run of the networks to predict.
    counters_from : str
        ``"short run"``, ``"cache model"``, or empty: nobody said.
    """

    sets: tuple[str, ...]
    description: EngineDescription
    surrogates: Surrogates | None
    stand_in: Fits = field(default_factory=dict)
    counters: pd.DataFrame | None = None
    counters_from: str = ""

    @property
    def dynamic(self) -> tuple[str, ...]:
        """Columns that only a run, or a model of one, can give: those that were counted for the training."""
        if self.surrogates is None:
            return ()
        known = {name for fits in self.surrogates.models.values() for name in fits}
        return tuple(column.name for name in self.sets for column in SETS[name].columns if column.name in known)

    def complete(self, calls: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
        """Kernel calls with the columns of all sets.

        Raises
        ------
        DataError
            The model reads counters and nobody said where from; names the missing columns.
        """
        described = describe_calls(calls, cnns, self.description)
        if not self.dynamic:
            return described
        if self.counters is not None:
            return joined_columns(described, self.counters, "counters of the short run")
        if self.counters_from == SURROGATE and self.surrogates is not None:
            return described.join(self.surrogates.columns(described))
        raise DataError(
            f"is missing {', '.join(self.dynamic)}: the model has terms that only a run of this CNN can give",
            place=f"CNN {calls['cnn'].iloc[0]!r}, kernel characteristics",
            hint="Count them in a short run on this machine (--profile-run), or let the cache model stand in (--surrogates).",
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON types; counters of other networks are not stored."""
        caches = [[cache.name, cache.size_bytes, cache.line_bytes, cache.ways] for cache in self.description.caches]
        return {
            "sets": list(self.sets),
            "caches": caches,
            "blocking": plain(self.description.blocking),
            "mix": None if self.description.mix is None else plain(self.description.mix.frame),
            "surrogates": None if self.surrogates is None else fits_to_dict(self.surrogates.models),
            "stand_in": fits_to_dict(self.stand_in),
        }

    @classmethod
    def from_dict(cls, value: Any, path: str) -> Characteristics:
        """The inverse; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            caches = tuple(
                CacheLevel(str(name), int(size), int(line), int(ways)) for name, size, line, ways in fields.items("caches")
            )
            blocking = _blocking_from_dict(fields.raw("blocking"), f"{path}.blocking")
            mix = None if fields.absent("mix") else InstructionMix(frame_from_dict(fields.raw("mix"), f"{path}.mix"))
            counted = None if fields.absent("surrogates") else fits_from_dict(fields.raw("surrogates"), f"{path}.surrogates")
            return cls(
                fields.texts("sets"),
                EngineDescription(caches, blocking, mix),
                None if counted is None else Surrogates(counted),
                fits_from_dict(fields.raw("stand_in"), f"{path}.stand_in"),
            )


def _blocking_from_dict(value: Any, path: str) -> Blocking:
    with Fields(value, path) as fields:
        rows, depth, tile_rows, tile_columns, strip = (
            fields.integer(name, lower=1) for name in ("rows", "depth", "tile_rows", "tile_columns", "strip")
        )
        return Blocking(rows, depth, tile_rows, tile_columns, strip, fields.text("source"))
