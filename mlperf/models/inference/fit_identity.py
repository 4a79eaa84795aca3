"""What a report is about: the model, the rows and the selection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class FitIdentity:
    """What was fitted and how it was chosen.

    ``formula`` of the final model, ``terms`` in it, ``noise`` (absolute or relative), ``criterion``, ``direction`` and penalty
    ``k`` of the selection, ``n_candidates`` models compared; ``n_samples`` in use, ``n_dropped`` for missing values; ``rank``;
    ``aliased`` columns each with its linear relation; ``saturated_start`` and ``perfect`` flags.
    """

    formula: str
    terms: tuple[str, ...]
    noise: str
    weighted: bool
    criterion: str
    direction: str
    k: float
    n_candidates: int
    n_samples: int
    n_dropped: int
    rank: int
    df_resid: int
    aliased: tuple[str, ...]
    saturated_start: bool
    perfect: bool
