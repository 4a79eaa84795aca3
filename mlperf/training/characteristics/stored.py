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

RUN, SURROGATE, SIZES = "short run", "cache model", "sizes"


def stand_in_name(description: EngineDescription | None) -> str:
    """What models of counters read: the cache model of the engine's loops, or no more than a library call's sizes."""
    return SIZES if description is None else SURROGATE


@dataclass(frozen=True, slots=True, eq=False)
class Characteristics:
    """What a gradient model needs to know of kernel calls beside their sizes.

    Attributes
    ----------
    sets : tuple of str
        Keys of `mlperf.features.network_engine.SETS`.
    description : EngineDescription or None
        Caches and libraries of the machine that was trained on; None for library layers, whose loops nobody knows.
    surrogates : Surrogates or None
        Models of the counters; None without a dynamic set.
    stand_in : mapping
        Kernel models that were fitted on those models' answers in place of counters, as `GradientModel.kernels`.
    counters : DataFrame or None
        Counters of a short run of the networks to predict.
    counters_from : str
        ``"short run"``, ``"cache model"`` (of library layers: models on their sizes), or empty: nobody said.
    """

    sets: tuple[str, ...]
    description: EngineDescription | None
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

    @property
    def source(self) -> str:
        """Where the counters of unseen networks come from, for people."""
        return stand_in_name(self.description) if self.counters_from == SURROGATE else self.counters_from

    def complete(self, calls: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
        """Kernel calls with the columns of all sets.

        Raises
        ------
        DataError
            The model reads counters and nobody said where from; names the missing columns.
        """
        described = calls if self.description is None else describe_calls(calls, cnns, self.description)
        if not self.dynamic:
            return described
        if self.counters is not None:
            return joined_columns(described, self.counters, "counters of the short run")
        if self.counters_from == SURROGATE and self.surrogates is not None:
            return described.join(self.surrogates.columns(described))
        raise DataError(
            f"is missing {', '.join(self.dynamic)}: the model has terms that only a run of this CNN can give",
            place=f"CNN {calls['cnn'].iloc[0]!r}, kernel characteristics",
            hint="Count them in a short run on this machine (--profile-run), or let models of them stand in (--surrogates).",
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON types; counters of other networks are not stored."""
        return {
            "sets": list(self.sets),
            **_description_to_dict(self.description),
            "surrogates": None if self.surrogates is None else fits_to_dict(self.surrogates.models),
            "stand_in": fits_to_dict(self.stand_in),
        }

    @classmethod
    def from_dict(cls, value: Any, path: str) -> Characteristics:
        """The inverse; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            counted = None if fields.absent("surrogates") else fits_from_dict(fields.raw("surrogates"), f"{path}.surrogates")
            return cls(
                fields.texts("sets"),
                _description_from_dict(fields, path),
                None if counted is None else Surrogates(counted),
                fits_from_dict(fields.raw("stand_in"), f"{path}.stand_in"),
            )


def _description_to_dict(description: EngineDescription | None) -> dict[str, Any]:
    if description is None:
        return {"caches": None, "blocking": None, "mix": None}
    return {
        "caches": [[cache.name, cache.size_bytes, cache.line_bytes, cache.ways] for cache in description.caches],
        "blocking": plain(description.blocking),
        "mix": None if description.mix is None else plain(description.mix.frame),
    }


def _description_from_dict(fields: Fields, path: str) -> EngineDescription | None:
    mix = None if fields.absent("mix") else InstructionMix(frame_from_dict(fields.raw("mix"), f"{path}.mix"))
    if fields.absent("blocking") and fields.absent("caches"):
        return None
    caches = tuple(CacheLevel(str(name), int(size), int(line), int(ways)) for name, size, line, ways in fields.items("caches"))
    return EngineDescription(caches, _blocking_from_dict(fields.raw("blocking"), f"{path}.blocking"), mix)


def _blocking_from_dict(value: Any, path: str) -> Blocking:
    with Fields(value, path) as fields:
        rows, depth, tile_rows, tile_columns, strip = (
            fields.integer(name, lower=1) for name in ("rows", "depth", "tile_rows", "tile_columns", "strip")
        )
        return Blocking(rows, depth, tile_rows, tile_columns, strip, fields.text("source"))
