"""Levels of text columns: rare ones are pooled, those never seen are taken for the most frequent one, and both are flagged."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.json_fields import Fields
from mlperf.training.table.screening import is_number

OTHER = "(other)"
WHOLE = r"^([+-]?[0-9]+)\.0+$"
"""What pandas makes of the whole numbers of a column with a missing cell."""
TRUTHS = ("TRUE", "FALSE")
LEAST_ROWS, ENOUGH_ROWS = 3, 30
"""A level in fewer rows than this is rare, in a table of at least so many rows; in a smaller one only a level in one row is."""


@dataclass(frozen=True, slots=True)
class ColumnLevels:
    """Levels of one column that have a coefficient, the rare ones pooled as ``(other)``, and what stands for one never seen."""

    kept: tuple[str, ...]
    pooled: tuple[str, ...]
    substitute: str
    counts: Mapping[str, int] = field(default_factory=dict)
    """Training rows of each pooled level; empty in files of earlier releases."""

    @property
    def known(self) -> tuple[str, ...]:
        """Levels that have a coefficient of their own."""
        return tuple(name for name in self.kept if name != OTHER or len(self.pooled) < 2)

    @property
    def pool(self) -> str:
        """What a pooled level counts as."""
        return OTHER if OTHER in self.kept or len(self.pooled) > 1 else self.substitute

    def guessed(self, texts: pd.Series) -> BoolArray:
        """Rows whose level has no coefficient of its own: it was never seen, or is rare; shape (n_rows,)."""
        return ~texts.astype(str).isin(self.kept).to_numpy(bool)


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of every text column, by its name."""

    columns: Mapping[str, ColumnLevels]

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> Levels:
        """Count the levels of every column that does not hold numbers."""
        return cls({str(name): _column_levels(frame[name].astype(str)) for name in frame if not is_number(frame[name])})

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with rare levels pooled and those never seen replaced, shape unchanged."""
        made = {name: self._mapped(frame[name].astype(str), levels) for name, levels in self.columns.items() if name in frame}
        return frame.assign(**made) if made else frame

    def guessed(self, frame: pd.DataFrame) -> BoolArray:
        """Rows with a level that has no coefficient of its own, since the fit has not seen it or only rarely; shape (n_rows,)."""
        found = np.zeros(len(frame), bool)
        for name, levels in self.columns.items():
            if name in frame:
                found |= levels.guessed(frame[name])
        return found

    def _mapped(self, texts: pd.Series, levels: ColumnLevels) -> pd.Series:
        seen = texts.where(texts.isin([*levels.kept, *levels.pooled]), levels.substitute)
        return seen.where(~seen.isin(list(levels.pooled)), levels.pool)

    def notes(self) -> tuple[str, ...]:
        """A sentence for each column with rare levels."""
        return tuple(
            f"column {name}: {len(levels.pooled)} rare levels count as {OTHER}: {_few(levels.pooled)}"
            if len(levels.pooled) > 1
            else f"column {name}: the level {levels.pooled[0]!r} is in one row or two and counts as {levels.substitute!r}"
            for name, levels in self.columns.items()
            if levels.pooled
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON types; `from_dict` reads them back."""
        return {
            name: {"kept": list(each.kept), "pooled": list(each.pooled), "substitute": each.substitute}
            | ({"counts": dict(each.counts)} if each.counts else {})
            for name, each in self.columns.items()
        }

    @classmethod
    def from_dict(cls, value: Any, path: str) -> Levels:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        found = {}
        for name in Fields(value, path).names:
            with Fields(value[name], f"{path}.{name}") as fields:
                kept, pooled, substitute = fields.texts("kept"), fields.texts("pooled"), fields.text("substitute")
                found[name] = ColumnLevels(kept, pooled, substitute, _counts_from(fields))
        return cls(found)


def _counts_from(fields: Fields) -> dict[str, int]:
    """Rows of the pooled levels, which files of earlier releases do not tell."""
    if fields.missing("counts"):
        return {}
    with fields.child("counts") as counts:
        return {level: counts.integer(level, lower=1) for level in counts.names}


def _column_levels(texts: pd.Series) -> ColumnLevels:
    counts = texts.value_counts(sort=False)
    least = LEAST_ROWS if len(texts) >= ENOUGH_ROWS else 2
    frequent = sorted(str(name) for name in counts.index[counts >= least])
    if not frequent:
        return ColumnLevels(tuple(sorted(map(str, counts.index))), (), str(counts.index[0]))
    rare = tuple(sorted(str(name) for name in counts.index[counts < least]))
    most = max(frequent, key=lambda name: int(counts[name]))
    kept = (*frequent, OTHER) if len(rare) > 1 else tuple(frequent)
    return ColumnLevels(kept, rare, most, {name: int(counts[name]) for name in rare})


def _few(names: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def as_known(labels: pd.Series, known: Collection[str]) -> pd.Series[str]:
    """Labels as texts, a new one as the known one that it is in another spelling.

    ``1.0`` is ``1`` (and ``1`` is ``1.0``), and ``TRUE`` is ``True``, as a spreadsheet writes it, where that label is known and
    this one is not.
    """
    texts = labels.astype(str)
    new = ~texts.isin(known)
    if not new.any():
        return texts
    spelled = {_plain(label): label for label in sorted(known)}
    if len({label for label in known if label.upper() in TRUTHS}) > len(spelled.keys() & set(TRUTHS)):
        # ``true`` and ``True`` are two labels to who has both.
        spelled = {plain: label for plain, label in spelled.items() if plain not in TRUTHS}
    meant = texts[new].map(_plain, na_action="ignore").map(spelled)
    texts[meant.index[meant.notna()]] = meant[meant.notna()]
    return texts


def _plain(label: str) -> str:
    """A label in the spelling that those with one meaning share."""
    return label.upper() if label.upper() in TRUTHS else re.sub(WHOLE, r"\1", label)
