"""How a local model did on rows that it had not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.validation.scores import ErrorSummary


@dataclass(frozen=True, slots=True, eq=False)
class LocalReport(Shown):
    """How a local model did on training rows that it had not seen.

    ``k`` neighbours chosen among ``k_errors`` (k to mean |log ratio|); ``errors`` of the local and ``global_errors`` of the
    weighted global model on the same left-out rows; ``gain`` is 1 - MAPE / global MAPE and ``worth_it`` whether that reaches 20 %.
    """

    n_samples: int
    k: int
    k_errors: Mapping[int, float]
    errors: ErrorSummary | None
    global_errors: ErrorSummary | None
    gain: float
    worth_it: bool

    @classmethod
    def from_fields(cls, fields: Fields, n_samples: int, k: int) -> LocalReport:
        """Read what `LocalModel.to_dict` wrote of it."""
        pairs = fields.matrix("k_errors", None, 2)
        errors, overall = (
            None if fields.absent(key) else ErrorSummary.from_fields(fields.child(key)) for key in ("errors", "global_errors")
        )
        return cls(
            n_samples=n_samples,
            k=k,
            k_errors={int(number): float(value) for number, value in pairs},
            errors=errors,
            global_errors=overall,
            gain=fields.number("gain", finite=False),
            worth_it=fields.boolean("worth_it"),
        )
