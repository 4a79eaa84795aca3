"""Static characteristics of every kernel of a campaign of contractions, as tables next to its times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.contractions import read_contractions
from mlperf.datasets.campaigns.write import write_csv
from mlperf.features.code.table import swc_o
from mlperf.features.network.base import KEY, FeatureTable
from mlperf.features.source.read import swc_s

SETTING = ("build", "N", KEY)
Part = tuple[FeatureTable, dict[str, Any]]


def write_contraction_features(folder: Path | str) -> tuple[Path, ...]:
    """Write ``swc-s.csv`` (by N and kernel) and ``swc-o.csv`` (by build, N and kernel), and the meaning of their columns.

    Parameters
    ----------
    folder : path
        A campaign as ``mlperf collect contraction`` leaves it, with its C and assembler text.

    Returns
    -------
    tuple of Path
        The tables and their dictionaries. A mnemonic that does not occur in a build counts 0 there.

    Raises
    ------
    DataError
        The campaign has no times, or a kernel no text.
    MissingExtraError
        The C parser is not installed (extra ``asm``).
    """
    folder = Path(folder)
    times = read_contractions(folder).times
    nests: list[Part] = []
    counts: list[Part] = []
    for n, rows in times.groupby("N"):
        home = folder / f"N{n}"
        found = swc_s([_text_file(home / f"{kernel}.c") for kernel in rows["kernel"].unique()])
        nests.append((found, {"N": n}))
        for build, part in rows.groupby("build"):
            found = swc_o([_text_file(home / str(build) / f"{kernel}.s") for kernel in part["kernel"].unique()])
            counts.append((found, {"build": build, "N": n}))
    return (*written(folder / "swc-s.csv", nests), *written(folder / "swc-o.csv", counts))


def _text_file(path: Path) -> Path:
    """A file that must be there; DataError: it is not."""
    if not path.is_file():
        raise DataError("is missing", place=str(path), hint="mlperf collect contraction writes it; bundled campaigns have no text.")
    return path


def written(path: Path, parts: Sequence[Part]) -> tuple[Path, Path]:
    """Write feature tables below one another, with the columns that distinguish them in front, and one dictionary."""
    settings = [pd.DataFrame(setting, index=table.frame.index) for table, setting in parts]
    frames = [pd.concat([setting, table.frame], axis=1) for setting, (table, _) in zip(settings, parts, strict=True)]
    frame = pd.concat(frames, ignore_index=True).fillna(0)
    front = [name for name in SETTING if name in frame]
    columns = {column.name: column for table, _ in parts for column in table.columns}
    whole = frame[[*front, *columns]]
    meaning = FeatureTable(parts[0][0].kind, whole, tuple(columns.values()), {}).dictionary()
    beside = path.with_name(path.name.removesuffix(".csv") + ".columns.csv")
    write_csv(whole, path)
    write_csv(meaning, beside)
    return path, beside
