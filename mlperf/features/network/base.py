"""What every feature set hands over: a table of numbers, and for each column its unit and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.core.places import check_file_places
from mlperf.core.shown import Shown

KEY = "kernel"


@dataclass(frozen=True, slots=True)
class FeatureColumn:
    """One column of a feature table.

    Attributes
    ----------
    name : str
        Header; also the name in terms and formulas.
    unit : str
        ``"bytes"``, ``"elements"``, ``"1"`` for counts and indicators.
    source : str
        What the number was read or computed from.
    doc : str
        One line for people.
    """

    name: str
    unit: str
    source: str
    doc: str


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable(Shown, frame="frame"):
    """Features of several kernels.

    Attributes
    ----------
    kind : str
        ``"swc-s"``, ``"swc-o"``, ``"dwc-b"`` or ``"dwc-o"``.
    frame : DataFrame, shape (n_kernels, 1 + n_columns)
        ``kernel``, the key, and one numeric column for each of ``columns``, in this order.
    columns : tuple of FeatureColumn
        Unit and source of every column but the key.
    inputs : mapping
        File that was read to the SHA-256 of its content.
    notes : tuple of str
        What a reader should know about these rows, such as functions with indirect jumps.
    """

    kind: str
    frame: pd.DataFrame
    columns: tuple[FeatureColumn, ...]
    inputs: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def dictionary(self) -> pd.DataFrame:
        """Name, unit, source and meaning of every column but the key."""
        rows = [(column.name, column.unit, column.source, column.doc) for column in self.columns]
        return pd.DataFrame(rows, columns=["column", "unit", "source", "meaning"])


def write_features(table: FeatureTable, path: Path | str) -> tuple[Path, ...]:
    """Write a feature table as CSV, and its dictionary next to it; a device or pipe gets the table alone.

    Parameters
    ----------
    table : FeatureTable
        What to write.
    path : path
        ``table.csv``; the dictionary goes to ``table.columns.csv``.

    Returns
    -------
    tuple of paths
        Of the table, and of the dictionary.
    """
    path = Path(path)
    places = check_file_places(path, path.with_name(path.name.removesuffix(".csv") + ".columns.csv"))
    frames = (table.frame, table.dictionary())
    for place, frame in zip(places, frames, strict=False):
        write_text_whole(place, frame.to_csv(index=False, float_format="%.17g", lineterminator="\n"))
    return places


def check_keys_once(keys: Sequence[str], places: Sequence[str]) -> None:
    """Accept keys only if each occurs once.

    Raises
    ------
    DataError
        Names the key and both places.
    """
    first: dict[str, str] = {}
    for key, place in zip(keys, places, strict=True):
        if key in first:
            raise DataError(
                f"got {KEY} {key!r} a second time (first in {first[key]}), expected every {KEY} once",
                place=place,
                hint="Select functions, or take the file's name into the key.",
            )
        first[key] = place
