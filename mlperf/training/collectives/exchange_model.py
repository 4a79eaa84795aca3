"""The trained exchange: seconds of a collective by participants, machines and bytes, with interval, domain and rejected forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import Shown, plain, records_frame
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.residual_quantiles import log_ratio_bound
from mlperf.training.collectives.exchange_rows import machines_of, terms_frame
from mlperf.training.collectives.form_choice import FormScore
from mlperf.training.collectives.form_fit import FittedForm

KIND = "exchange"
MANY = 10_000.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExchangeModel(Shown):
    """What `train_exchange` makes of measurements.

    Attributes
    ----------
    operation : str
        ``"all_reduce"``.
    measured : FittedForm
        Answers for counts that were measured.
    other : FittedForm
        Answers for all other counts: a physical form, chosen on counts left out.
    forms : tuple of FormScore
        Every candidate with its left-out errors, the paper's first.
    log_ratios, log_ratios_of_counts : array
        log(measured / predicted) of left-out rows for ``measured``, of rows of left-out counts for ``other``: the intervals.
    alike : tuple of FittedForm
        Further physical forms that the rows do not tell from ``other``, where there were too few counts to leave any out.
    rows : DataFrame
        What it was trained on: N, M, S, time_s.
    gpus_per_node : float
        Participants a machine holds; NaN where unknown.
    noise : float
        Median relative difference of repeats; NaN without.
    r2_adj, r2_uncentred : float
        Of the paper's form by ordinary least squares: about the mean and adjusted, as it is reported here, and about zero, as
        common tools print it for a model without a constant.
    notes : tuple of str
        What was left out or assumed.
    provenance : mapping
    """

    operation: str
    measured: FittedForm
    other: FittedForm
    forms: tuple[FormScore, ...]
    log_ratios: FloatArray
    log_ratios_of_counts: FloatArray
    rows: pd.DataFrame
    gpus_per_node: float
    noise: float
    r2_adj: float
    r2_uncentred: float
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    alike: tuple[FittedForm, ...] = ()

    def predict(self, n_gpus: ArrayLike, size_bytes: ArrayLike, n_nodes: ArrayLike | None = None) -> FloatArray:
        """Seconds of one exchange, broadcast shape of the arguments; 0 for one participant.

        Parameters
        ----------
        n_gpus : array
            Participants, >= 1.
        size_bytes : array
            Bytes of the vector, > 0.
        n_nodes : array, optional
            Machines they sit on; by default as many as `gpus_per_node` fill.

        Raises
        ------
        DataError
            A count below 1, more machines than participants, or a size that is not above zero.
        """
        shape, columns = self._columns(n_gpus, size_bytes, n_nodes)
        answer = self.measured.predict(columns)
        unknown = ~self._measured_counts(columns)
        if unknown.any():
            answer[unknown] = self.other.predict({name: values[unknown] for name, values in columns.items()})
        return np.where(columns["N"] == 1.0, 0.0, answer).reshape(shape)

    def predict_interval(
        self, n_gpus: ArrayLike, size_bytes: ArrayLike, n_nodes: ArrayLike | None = None, level: float = 0.95
    ) -> Interval:
        """Bounds of one exchange: the prediction times and over a factor that so many left-out rows stayed within.

        Rows of counts left out make the factor of counts that were not measured; see `log_ratio_bound`, also for few rows. Where
        too few counts were measured to leave one out, bounds there reach over all forms that the rows do not tell apart.

        References
        ----------
        Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-free predictive inference for regression.
        """
        shape, columns = self._columns(n_gpus, size_bytes, n_nodes)
        seconds = self.predict(columns["N"], columns["S"], columns["M"])
        own, beyond = (log_ratio_bound(each, level) for each in (self.log_ratios, self.log_ratios_of_counts))
        factor = np.exp(np.where(self._measured_counts(columns), own, np.fmax(own, beyond)))
        least, most = self._over_forms(columns, seconds)
        return Interval((least / factor).reshape(shape), (most * factor).reshape(shape), level)

    def _over_forms(self, columns: Mapping[str, FloatArray], seconds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the most that forms which fit alike say of counts that were not measured."""
        unknown = ~self._measured_counts(columns) & (columns["N"] > 1.0)
        least, most = seconds.copy(), seconds.copy()
        if unknown.any():
            asked = {name: values[unknown] for name, values in columns.items()}
            every = [seconds[unknown], *(form.predict(asked) for form in self.alike)]
            least[unknown], most[unknown] = np.min(every, axis=0), np.max(every, axis=0)
        return least, most

    def in_domain(self, n_gpus: ArrayLike, size_bytes: ArrayLike, n_nodes: ArrayLike | None = None) -> BoolArray:
        """Whether the count was measured, on as many machines, at sizes on both sides; always for one participant."""
        shape, columns = self._columns(n_gpus, size_bytes, n_nodes)
        inside = columns["N"] == 1.0
        for (count, machines), rows in self.rows.groupby(["N", "M"]):
            here = (columns["N"] == count) & (columns["M"] == machines)
            inside |= here & (columns["S"] >= rows["S"].min()) & (columns["S"] <= rows["S"].max())
        return np.asarray(inside).reshape(shape)

    def extrapolated(self, n_gpus: ArrayLike, n_nodes: ArrayLike | None = None) -> BoolArray:
        """Whether there are more participants or machines than were ever measured together."""
        shape, columns = self._columns(n_gpus, 1.0, n_nodes)
        beyond = (columns["N"] > self.rows["N"].max()) | (columns["M"] > self.rows["M"].max())
        return np.asarray(beyond & (columns["N"] > 1.0)).reshape(shape)

    def to_frame(self) -> pd.DataFrame:
        """The candidates with their left-out errors, one row a form."""
        return records_frame(FormScore, self.forms)

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes, without its envelope."""
        names = ("operation", "log_ratios", "log_ratios_of_counts", "rows", "gpus_per_node", "noise", "r2_adj", "r2_uncentred")
        found = {name: plain(getattr(self, name)) for name in (*names, "notes", "provenance")}
        forms = [one.to_dict() for one in self.forms]
        # Files of earlier releases know of none, and are written again as they were.
        alike = {"alike": [one.to_dict() for one in self.alike]} if self.alike else {}
        return {**found, "measured": self.measured.to_dict(), "other": self.other.to_dict(), "forms": forms, **alike}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> ExchangeModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            rows = frame_from_dict(fields.raw("rows"), f"{path}.rows")
            if not {"N", "M"} <= {name for name in rows if pd.api.types.is_numeric_dtype(rows[name])}:
                raise DataError("expected numbers in N and M", place=f"{path}.rows")
            return cls(
                operation=fields.text("operation"),
                measured=FittedForm.from_dict(fields.raw("measured"), f"{path}.measured"),
                other=FittedForm.from_dict(fields.raw("other"), f"{path}.other"),
                forms=tuple(FormScore.from_dict(one, f"{path}.forms[{place}]") for place, one in enumerate(fields.items("forms"))),
                rows=rows,
                alike=tuple(
                    FittedForm.from_dict(one, f"{path}.alike[{place}]")
                    for place, one in enumerate(() if fields.missing("alike") else fields.items("alike"))
                ),
                notes=fields.texts("notes"),
                provenance=dict(fields.raw("provenance")),
                log_ratios=fields.numbers("log_ratios", finite=False),
                log_ratios_of_counts=fields.numbers("log_ratios_of_counts", finite=False),
                gpus_per_node=fields.number("gpus_per_node", lower=1.0, finite=False),
                noise=fields.number("noise", finite=False),
                r2_adj=fields.number("r2_adj", finite=False),
                r2_uncentred=fields.number("r2_uncentred", finite=False),
            )

    def _measured_counts(self, columns: Mapping[str, FloatArray]) -> BoolArray:
        known = self.rows[["N", "M"]].drop_duplicates().to_numpy()
        pairs = np.column_stack([columns["N"], columns["M"]])
        return np.asarray((pairs[:, None, :] == known[None]).all(axis=2).any(axis=1))

    def _columns(
        self, n_gpus: ArrayLike, size_bytes: ArrayLike, n_nodes: ArrayLike | None
    ) -> tuple[tuple[int, ...], dict[str, FloatArray]]:
        counts = np.asarray(n_gpus, dtype=np.float64)
        machines = machines_of(counts, self.gpus_per_node) if n_nodes is None else np.asarray(n_nodes, dtype=np.float64)
        shape = np.broadcast_shapes(counts.shape, machines.shape, np.shape(size_bytes))
        columns = terms_frame(counts, machines, size_bytes)
        for name, wrong, expected in (
            ("n_gpus", ~(columns["N"] >= 1.0), "at least 1"),
            ("n_nodes", ~((columns["M"] >= 1.0) & (columns["M"] <= columns["N"])), "at least 1 and at most the participants"),
            ("size_bytes", ~((columns["S"] > 0.0) & np.isfinite(columns["S"])), "a number above 0"),
        ):
            if wrong.any():
                got = {"n_gpus": "N", "n_nodes": "M", "size_bytes": "S"}[name]
                raise DataError(f"got {columns[got][wrong][0]:g} for {name}, expected {expected}", place="exchange model")
        return shape, columns
