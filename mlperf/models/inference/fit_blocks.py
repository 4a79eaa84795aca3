"""What a report of a fit is made of: coefficients, quality, collinearity, influence, residual tests, warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.core.json_fields import frame_from_dict
from mlperf.core.shown import Shown, plain
from mlperf.models.inference.anova import TermTable
from mlperf.models.inference.clustered import ClusterInference, RowGroups, cluster_inference
from mlperf.models.inference.diagnostics import (
    Influence,
    Test,
    condition,
    durbin_watson,
    influence,
    residual_tests,
    robust_std_err,
    variance_inflation,
)
from mlperf.models.inference.figures import FitFigures, FitIdentity
from mlperf.models.inference.inference import Inference, statsmodels_results, statsmodels_summary
from mlperf.models.inference.lack_of_fit import LackOfFit, lack_of_fit
from mlperf.models.inference.report_extras import Extras, left_out_residuals
from mlperf.models.inference.row_figures import QUARTERS, RowFigures, moments
from mlperf.models.selection.linear import LinearFit
from mlperf.models.uncertainty.difficulty import left_out_scores
from mlperf.models.uncertainty.draws import bootstrap_coefficients, row_bootstrap
from mlperf.models.uncertainty.spread import Spread

N_WORST = 5


@dataclass(frozen=True, slots=True, eq=False)
class FitBlocks(Shown):
    """Everything about one fit; blocks that need the rows are computed on first access.

    Parameters
    ----------
    identity : FitIdentity
    figures : FitFigures
        Its fields are attributes of the report too: ``report.r2_adj``.
    names : tuple of str
        Of the coefficients.
    coef : array, shape (rank,)
    inference : Inference
    condition_number : float
        Of the columns scaled to equal length.
    anova, drop1 : TermTable
        Sequential sums of squares; each term's F test against the model without it.
    warnings : tuple of str
    ordered : bool
        Whether rows are ordered in time (Durbin-Watson is shown then).
    """

    identity: FitIdentity
    figures: FitFigures
    names: tuple[str, ...]
    coef: FloatArray
    inference: Inference
    condition_number: float
    _anova: TermTable
    _drop1: TermTable
    warnings: tuple[str, ...]
    ordered: bool = False
    _fit: LinearFit | None = field(default=None, repr=False)
    _extras: Extras | None = field(default=None, repr=False)
    _row_groups: RowGroups | None = field(default=None, repr=False)
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    def __getattr__(self, name: str) -> Any:
        """Fields of ``identity`` and ``figures``."""
        if not name.startswith("_"):
            for part in (self.identity, self.figures):
                if name in part.__slots__:
                    return getattr(part, name)
        raise AttributeError(f"A fit report has no attribute {name!r}")

    @property
    def stored_path(self) -> pd.DataFrame | None:
        """The selection's path of a fit that was read from a file; None where the fit still has its own."""
        path = self._made.get("path")
        return None if path is None else frame_from_dict(path, "path")

    @property
    def stored_trace(self) -> str | None:
        """What R's ``step`` printed, of a fit that was read from a file; None where the fit has its own, or in old files."""
        trace: str | None = self._made.get("trace")
        return trace

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _rows(self) -> LinearFit:
        if self._fit is None:
            raise FitError(
                "this report was read from a file without the training rows", hint="Fit again to get blocks that need the rows."
            )
        return self._fit

    def _basis(self) -> FloatArray:
        q: FloatArray = self._once("q", self._rows().q)
        return q

    def _influence(self) -> Influence:
        made: Influence = self._once("influence", lambda: influence(self._rows(), self._basis()))
        return made

    def _robust(self) -> FloatArray:
        made: FloatArray = self._once("hc3", lambda: robust_std_err(self._rows(), self._basis(), self._influence().leverage))
        return made

    def _inflation(self) -> tuple[FloatArray, dict[int, tuple[float, int]]]:
        made: tuple[FloatArray, dict[int, tuple[float, int]]] = self._once("vif", lambda: variance_inflation(self._rows()))
        return made

    @property
    def has_row_figures(self) -> bool:
        """Whether `row_figures` is known: not where a file of an earlier release was read."""
        return self._fit is not None or "row_figures" in self._made

    @property
    def row_figures(self) -> RowFigures:
        """Robust errors, inflation, and residuals in a few numbers; stored with the report."""
        made: RowFigures = self._once("row_figures", self._row_figures)
        return made

    def _row_figures(self) -> RowFigures:
        residuals, worst = self._rows().weighted_residuals(), self.worst_rows
        return RowFigures(
            self._robust(),
            self._inflation()[0],
            np.quantile(residuals, QUARTERS),
            *moments(residuals),
            self.residual_tests,
            self.durbin_watson,
            self.lag1_autocorrelation,
            worst.index.to_numpy(dtype=np.int64),
            worst["cooks_distance"].to_numpy(dtype=np.float64),
        )

    @property
    def log_likelihood(self) -> float:
        """Of normal errors at the estimates, all constants and weights included (R's ``logLik``)."""
        return self.identity.rank + 1.0 - 0.5 * self.figures.aic_full

    @property
    def coefficients(self) -> pd.DataFrame:
        """One row a coefficient: coef, std_err, t_value, p_value, std_err_hc3, vif, lower, upper.

        The p-value is naive: as if the model had been given and rows were independent. Where groups of rows are known, also
        std_err_cluster, t_value_cluster, p_value_cluster (see ``ClusterInference``). Earlier files lack std_err_hc3, vif: NaN.
        """
        made: pd.DataFrame = self._once("coefficients", self._coefficients)
        return made

    def _coefficients(self) -> pd.DataFrame:
        inference = self.inference
        unknown = np.full(len(self.names), np.nan)
        table = {
            "coef": self.coef,
            "std_err": inference.std_err,
            "t_value": inference.t_value,
            "p_value": inference.p_value,
            "std_err_hc3": self.row_figures.std_err_hc3 if self.has_row_figures else unknown,
            "vif": self.row_figures.vif if self.has_row_figures else unknown,
            "lower": inference.lower,
            "upper": inference.upper,
        }
        if self.clustered is not None:
            table |= {f"{name}_cluster": getattr(self.clustered, name) for name in ("std_err", "t_value", "p_value")}
        return pd.DataFrame(table, index=pd.Index(self.names, name="term"))

    @property
    def clustered(self) -> ClusterInference | None:
        """Tests that let errors within a group be correlated; None where no groups are known, or only one."""
        made: ClusterInference | None = self._once("clustered", self._clustered)
        return made

    def _clustered(self) -> ClusterInference | None:
        groups = None if self._row_groups is None else self._row_groups.groups()
        return None if groups is None else cluster_inference(self._rows(), groups, self.inference.std_err)

    @property
    def lack_of_fit(self) -> LackOfFit | None:
        """Test of the form against rows that repeat; None where none do."""
        made: LackOfFit | None = self._once("lack_of_fit", self._lack_of_fit)
        return made

    def _lack_of_fit(self) -> LackOfFit | None:
        return None if self._row_groups is None else lack_of_fit(self._rows(), self._row_groups.configurations())

    @property
    def vif(self) -> pd.DataFrame:
        """One row a term: gvif, df, and gvif ** (1 / (2 df)), which compares across df."""
        per_term = self._inflation()[1]
        names = [self.identity.terms[term - 1] for term in per_term]
        rows = [(value, df, value ** (0.5 / df)) for value, df in per_term.values()]
        return pd.DataFrame(rows, columns=["gvif", "df", "gvif_root"], index=pd.Index(names, name="term"))

    @property
    def influence(self) -> pd.DataFrame:
        """One row a fitted row: leverage, rstandard, rstudent, cooks_distance, dffits; rows of weight zero are left out."""
        made = self._influence()
        columns = {name: getattr(made, name) for name in ("leverage", "rstandard", "rstudent", "cooks_distance", "dffits")}
        return pd.DataFrame(columns, index=pd.Index(self._rows().rows, name="row"))

    @property
    def worst_rows(self) -> pd.DataFrame:
        """The five rows with the largest Cook's distance, with the Bonferroni p of their studentised residual."""
        from scipy.special import stdtr

        frame = self.influence
        fit = self._rows()
        p_value = 2.0 * stdtr(max(fit.df_resid - 1, 1), -np.abs(frame["rstudent"].to_numpy()))
        frame["bonferroni_p"] = np.minimum(p_value * len(frame), 1.0)
        return frame.sort_values("cooks_distance", ascending=False, kind="stable").head(N_WORST)

    @property
    def press(self) -> float:
        """Sum of squared leave-one-out residuals."""
        return self._influence().press

    @property
    def press_r2(self) -> float:
        """1 - PRESS over the total sum of squares."""
        centred = self._rows().total_squares()[0]
        return 1.0 - self.press / centred if centred > 0 else float("nan")

    @property
    def condition_indices(self) -> FloatArray:
        """Condition indices of the scaled columns, ascending, shape (rank,)."""
        return condition(self._rows())[1]

    @property
    def residual_tests(self) -> Mapping[str, Test]:
        """Breusch-Pagan (studentised), White, RESET, Shapiro-Wilk (below 5000 rows); each with statistic, df, p_value."""
        made: Mapping[str, Test] = self._once("tests", lambda: residual_tests(self._rows(), self._basis()))
        return made

    @property
    def durbin_watson(self) -> float | None:
        """Durbin-Watson statistic of rows that are ordered in time, else None."""
        return durbin_watson(self._rows().weighted_residuals())[0] if self.ordered else None

    @property
    def lag1_autocorrelation(self) -> float | None:
        """Autocorrelation of neighbouring residuals of rows that are ordered in time, else None."""
        return durbin_watson(self._rows().weighted_residuals())[1] if self.ordered else None

    @property
    def anova(self) -> pd.DataFrame:
        """Sequential analysis of variance: df, sum_sq, mean_sq, f_value, p_value; last row the residuals."""
        return self._anova.to_frame()

    @property
    def drop1(self) -> pd.DataFrame:
        """Each term that could leave: df, sum_sq, rss, aic, f_value, p_value; first row the model as it is."""
        return self._drop1.to_frame()

    @property
    def selective(self) -> Any:
        """Tests given the selection (``SelectiveInference``), None where switched off."""
        return self._extra("selective")

    @property
    def p_selective(self) -> FloatArray | None:
        """Selective p-value of each coefficient, shape (rank,); None where there is none."""
        selective = self.selective
        if selective is None or selective.reason is not None:
            return None
        return self._by_coefficient(selective.columns, selective.p_value)

    @property
    def selection(self) -> pd.DataFrame:
        """What the selection leaves of each coefficient.

        Columns: p_selective and the selective bounds lower, upper; inclusion (share of bootstrap selections that kept its term; 1
        for the constant), and the 2.5 % and 97.5 % quantiles of the coefficient over them, boot_lower and boot_upper. NaN where a
        block is off; why it is, is in ``reasons``.
        """
        table = pd.DataFrame(index=pd.Index(self.names, name="term"))
        nothing = np.full(len(self.names), np.nan)
        selective, stability = self.selective, self.stability
        for name, values in (("p_selective", "p_value"), ("lower", "lower"), ("upper", "upper")):
            table[name] = nothing if selective is None else self._by_coefficient(selective.columns, getattr(selective, values))
        table["inclusion"] = nothing if stability is None else np.append(stability.inclusion, 1.0)[self._term_of_coefficient()]
        for name, values in (("boot_lower", "coef_lower"), ("boot_upper", "coef_upper")):
            found = None if stability is None else getattr(stability, values)
            table[name] = nothing if found is None else self._by_coefficient(np.arange(len(found)), found)
        return table

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why a block of selective, stability, nested_cv is missing though switched on (as far as they were asked for)."""
        return dict(sorted((self._made.get("reasons", {}) if self._extras is None else self._extras.reasons).items()))

    def _kept(self) -> IntArray:
        stored: IntArray = self._made["kept"] if self._extras is None else self._extras.kept
        return stored

    def _term_of_coefficient(self) -> IntArray:
        stored: IntArray = self._made["kept_terms"] if self._extras is None else self._extras.kept_terms()
        return stored

    def _by_coefficient(self, columns: IntArray, values: FloatArray) -> FloatArray:
        by_column = dict(zip(columns.tolist(), values.tolist(), strict=True))
        return np.array([by_column.get(int(column), np.nan) for column in self._kept()])

    @property
    def stability(self) -> Any:
        """Bootstrap stability of the selection (``Stability``), None where switched off."""
        return self._extra("stability")

    @property
    def nested_cv(self) -> Any:
        """Cross-validated error with the selection inside each fold (``NestedError``), None where switched off."""
        return self._extra("nested_cv")

    def _extra(self, name: str) -> Any:
        extras = self._extras
        return self._made.get(name) if extras is None else self._once(name, lambda: extras.make(name))

    def bootstrap_coefficients(self, size: int, seed: int = 0) -> FloatArray:
        """Coefficients of resampled rows, terms as they are, shape (size, rank); the same rows and seed give the same resamples."""
        fit = self._rows()
        root = np.ones(len(fit.y)) if fit.root_weights is None else fit.root_weights
        counts = row_bootstrap(len(fit.y), size, seed)
        return bootstrap_coefficients(fit.matrix * root[:, None], fit.y * root, counts)

    def with_left_out_residuals(self, spread: Spread) -> Spread:
        """``spread`` with the residuals of the nested cross-validation, where it is on and they are needed."""
        extras = self._extras
        if extras is None or (spread.noise == "absolute" and extras.has_many_rows()) or extras.has_exact_intervals():
            return spread
        residuals = left_out_residuals(extras, self.nested_cv, spread.noise)
        if residuals is None:
            return spread
        fold_of = self.nested_cv.models.fold_of[extras.weighted_rows()]
        scores, difficulty = left_out_scores(self._rows().matrix, residuals, fold_of, len(self.coef))
        return replace(spread, residuals=scores, difficulty=difficulty)

    @property
    def other_choices(self) -> dict[str, tuple[str, ...]]:
        """Terms that AICc and BIC would have kept (see ``Extras.other_choices``); empty where switched off."""
        extras = self._extras
        made: dict[str, tuple[str, ...]] = self._once("other_choices", lambda: {} if extras is None else extras.other_choices())
        return made

    @property
    def statsmodels_summary(self) -> str | None:
        """What statsmodels prints of the fit, stored with the model; None where it has nothing to test, or an old file lacks it."""
        response = self.identity.formula.partition("~")[0].strip() or "y"
        made: str | None = self._once("statsmodels_summary", lambda: statsmodels_summary(self._rows(), response))
        return made

    def statsmodels_results(self) -> Any:
        """The kept columns, unscaled, fitted by statsmodels (made on request, never stored)."""
        return statsmodels_results(self._rows())

    def to_frame(self) -> pd.DataFrame:
        """The coefficient table."""
        return self.coefficients

    def to_dict(self) -> dict[str, Any]:
        """All but the blocks with one entry a row, as JSON types; makes the blocks of the selection that are switched on."""
        document: dict[str, Any] = {part: _fields(getattr(self, part)) for part in ("identity", "figures", "inference")}
        document |= {
            "names": list(self.names),
            "coef": plain(self.coef),
            "condition_number": plain(self.condition_number),
            "anova": self._anova.to_dict(),
            "drop1": self._drop1.to_dict(),
            "warnings": list(self.warnings),
            "ordered": self.ordered,
        }
        later = {name: plain(getattr(self, name)) for name in ("clustered", "lack_of_fit", "statsmodels_summary", "other_choices")}
        later["row_figures"] = self.row_figures.to_dict() if self.has_row_figures else None
        document |= {name: value for name, value in later.items() if value not in (None, {})}
        blocks = {name: self._extra(name) for name in ("selective", "stability", "nested_cv")}
        document |= {name: None if block is None else block.to_dict() for name, block in blocks.items()}
        made = any(block is not None for block in blocks.values())
        document |= {"reasons": dict(self.reasons)} if self.reasons else {}
        return document | {
            "kept": self._kept().tolist() if made else [],
            "kept_terms": self._term_of_coefficient().tolist() if made else [],
        }


def _fields(part: Any) -> dict[str, Any]:
    return {name: plain(getattr(part, name)) for name in part.__slots__ if name != "baselines" or part.baselines}
