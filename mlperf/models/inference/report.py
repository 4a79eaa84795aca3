"""The report of a fit, which shows itself as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from mlperf.models.formula.number_format import format_number
from mlperf.models.inference.clustered import ClusterInference
from mlperf.models.inference.fit_blocks import FitBlocks
from mlperf.models.selection.criteria import CRITERIA

# R prints smaller p-values as "< 2e-16"; tables and JSON keep the value.
P_FLOOR = 2.2e-16


def p_text(p_value: float) -> str:
    """A p-value as R prints it."""
    if np.isnan(p_value):
        return "NA"
    return "< 2e-16" if p_value < P_FLOOR else format_number(p_value, 3)


def report_text(report: FitBlocks) -> str:
    """The report for a terminal."""
    blocks = (_heading, _blank, _coefficients, _blank, _quality, _extra_lines, _row_lines, _notes)
    return "\n".join(line for block in blocks for line in block(report))


def _blank(_: FitBlocks) -> list[str]:
    return [""]


def _heading(report: FitBlocks) -> list[str]:
    identity = report.identity
    lines = [
        f"{identity.formula}",
        f"{identity.direction} selection by {identity.criterion}, {identity.n_candidates} candidates; noise {identity.noise}; "
        f"{identity.n_samples} rows, rank {identity.rank}, {identity.df_resid} residual degrees of freedom",
    ]
    if identity.n_dropped:
        lines.append(f"{identity.n_dropped} rows with missing values left out")
    constant = [relation for relation in identity.aliased if _is_number(relation.rpartition(" = ")[2])]
    if constant:
        lines.append(f"constant, set aside: {', '.join(constant)}")
    lines += [f"aliased: {relation}" for relation in identity.aliased if relation not in constant]
    return lines


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def coefficient_cells(report: FitBlocks) -> dict[str, list[str]]:
    """The table of coefficients as it is printed: heading to the cells of every term, in the order of ``report.names``."""
    columns: dict[str, list[str]] = {
        "coef": [format_number(value, 6) for value in report.coef],
        "std_err": [format_number(value, 5) for value in report.inference.std_err],
        "t": [format_number(value, 4) for value in report.inference.t_value],
        "p (naive)": [p_text(float(value)) for value in report.inference.p_value],
        "2.5 %": [format_number(value, 5) for value in report.inference.lower],
        "97.5 %": [format_number(value, 5) for value in report.inference.upper],
    }
    clustered = report.clustered
    if clustered is not None:
        columns |= _clustered_columns(clustered)
    if report.has_row_figures:
        columns["std_err HC3"] = [format_number(value, 5) for value in report.row_figures.std_err_hc3]
        columns["VIF"] = [format_number(value, 4) for value in report.row_figures.vif]
    return columns | _selected_columns(report)


def _coefficients(report: FitBlocks) -> list[str]:
    width = max([len(name) for name in report.names], default=0)
    lines = [" " * width]
    rows = [name.ljust(width) for name in report.names]
    for name, cells in coefficient_cells(report).items():
        cell_width = max([len(name), *map(len, cells)]) + 2
        lines[0] += name.rjust(cell_width)
        rows = [row + cell.rjust(cell_width) for row, cell in zip(rows, cells, strict=True)]
    return lines + rows + _coefficient_notes(report)


def _coefficient_notes(report: FitBlocks) -> list[str]:
    clustered, bases = report.clustered, report.identity.baselines
    told = [f"baseline: {', '.join(bases)}; the coefficient of another label is its difference from the baseline"] if bases else []
    if clustered is None:
        return [
            *told,
            "p (naive), 2.5 %, 97.5 %: as if the model had been given; after a selection p is too small and the bounds too narrow",
        ]
    return [
        *told,
        "p (naive), 2.5 %, 97.5 %: as if the model had been given and rows were independent; "
        "after a selection p is too small and the bounds too narrow",
        f"(groups): errors may correlate within each of {clustered.n_groups} groups (CR1, t on {clustered.n_groups - 1} df)",
    ]


def _clustered_columns(clustered: ClusterInference) -> dict[str, list[str]]:
    return {
        "std_err (groups)": [format_number(value, 5) for value in clustered.std_err],
        "t (groups)": [format_number(value, 4) for value in clustered.t_value],
        "p (groups)": [p_text(float(value)) for value in clustered.p_value],
    }


def _selected_columns(report: FitBlocks) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    p_values = report.p_selective
    if p_values is not None:
        columns["p (selective)"] = [p_text(float(value)) for value in p_values]
    if report.stability is not None:
        columns["kept"] = [f"{100 * value:.0f} %" for value in report.selection["inclusion"]]
    return columns


def _quality(report: FitBlocks) -> list[str]:
    figures = report.figures
    about = "about the mean, no constant in the model" if figures.r2_uncentered is not None else ""
    lines = [
        f"R2 {format_number(figures.r2, 5)}, adjusted R2 {format_number(figures.r2_adj, 5)}{' (' + about + ')' if about else ''}, "
        f"sigma {format_number(figures.sigma, 5)}"
    ]
    if figures.r2_uncentered is not None and figures.r2_adj_uncentered is not None and figures.f_value_uncentered is not None:
        lines.append(
            f"uncentred (R, statsmodels): R2 {format_number(figures.r2_uncentered, 5)}, adjusted R2 "
            f"{format_number(figures.r2_adj_uncentered, 5)}, F {format_number(figures.f_value_uncentered, 5)}"
        )
    if np.isfinite(figures.f_value):
        lines.append(
            f"F {format_number(figures.f_value, 5)} on {figures.f_df[0]} and {figures.f_df[1]} df, p {p_text(figures.f_p_value)}"
        )
    lines += _group_lines(report)
    if figures.r2_adj_unweighted is not None:
        lines.append(f"adjusted R2 on the raw scale, unweighted: {format_number(figures.r2_adj_unweighted, 5)}")
    lines.append(
        f"AIC {format_number(figures.aic)}, AICc {format_number(figures.aicc)}, BIC {format_number(figures.bic)} (scale of step); "
        f"full AIC {format_number(figures.aic_full)}, log-likelihood {format_number(report.log_likelihood)}; "
        f"condition number {format_number(report.condition_number, 3)}"
    )
    return lines


def _group_lines(report: FitBlocks) -> list[str]:
    """What the F test and the number of rows become where rows come in groups, and whether repeats refute the form."""
    lines = []
    clustered, lack = report.clustered, report.lack_of_fit
    if clustered is not None and np.isfinite(clustered.f_value):
        lines.append(
            f"F (groups) {format_number(clustered.f_value, 5)} on {clustered.f_df[0]} and {clustered.f_df[1]} df, "
            f"p {p_text(clustered.f_p_value)}"
        )
    if clustered is not None and np.isfinite(clustered.intraclass_correlation):
        lines.append(
            f"residuals correlate {clustered.intraclass_correlation:.2f} within groups: for a mean, {report.identity.n_samples} "
            f"rows are worth {format_number(clustered.n_effective, 3)} independent ones"
        )
    if lack is not None:
        lines.append(
            f"lack of fit: F {format_number(lack.f_value, 4)} on {lack.df_lack_of_fit} and {lack.df_pure_error} df, "
            f"p {p_text(lack.f_p_value)} ({lack.n_configurations} configurations, repeats taken for independent)"
        )
    return lines


def _extra_lines(report: FitBlocks) -> list[str]:
    lines = []
    nested = report.nested_cv
    groups = ", whole groups left out" if report.clustered else ""
    left_out = f"cross-validated anew, in folds of its own with the selection inside each{groups}"
    if nested is not None and nested.errors is not None:
        lines.append(
            f"{left_out}: MAPE {100 * nested.errors.mape:.1f} % "
            f"(fitted rows {100 * nested.apparent.mape:.1f} %), R2 {format_number(nested.r2, 4)}"
        )
    elif nested is not None:
        lines.append(f"{left_out}: RMSE {format_number(nested.rmse, 5)}, R2 {format_number(nested.r2, 4)}")
    for name, terms in report.other_choices.items():
        if set(terms) != set(report.identity.terms):
            lines.append(f"{CRITERIA[name] if name != 'bic' else 'BIC'} would keep: {', '.join(terms) or 'the constant alone'}")
    stability = report.stability
    if stability is not None:
        lines.append(
            f"bootstrap: {stability.n_models} different models in {stability.n_resamples} selections, this one in "
            f"{100 * stability.reported_frequency:.1f} %; kept: share of them that kept the term"
        )
    return [*lines, *(f"{name}: not computed, {reason}" for name, reason in report.reasons.items())]


def _row_lines(report: FitBlocks) -> list[str]:
    if not report.has_row_figures or report.identity.df_resid < 1:
        return []
    figures = report.row_figures
    unit = "fractions of the measured value" if report.identity.noise == "relative" else "unit of the response"
    names = ("min", "1Q", "median", "3Q", "max")
    quarters = ", ".join(f"{name} {format_number(value, 4)}" for name, value in zip(names, figures.residual_quarters, strict=True))
    tests = ", ".join(f"{name} p {p_text(test.p_value)}" for name, test in figures.tests.items())
    lines = [
        f"residuals ({unit}): {quarters}; skewness {figures.skewness:.2f}, kurtosis {figures.kurtosis:.2f} (normal: 0, 3)",
        f"residual tests: {tests}",
    ]
    if figures.durbin_watson is not None:
        lines.append(f"Durbin-Watson {figures.durbin_watson:.3f}, lag-1 autocorrelation {figures.lag1_autocorrelation:.3f}")
    worst = ", ".join(f"{row} ({value:.2g})" for row, value in zip(figures.worst_rows, figures.cooks_distance, strict=True))
    return [*lines, f"largest Cook's distances, row (distance): {worst}"]


def _notes(report: FitBlocks) -> list[str]:
    return [f"warning: {warning}" for warning in report.warnings]


def report_html(report: FitBlocks) -> str:
    """The report for a notebook."""
    table: Any = report.coefficients if report.has_row_figures else None
    notes = "".join(f"<li>{escape(warning)}</li>" for warning in report.warnings)
    body = "<br>".join(escape(line) for line in [*_heading(report), *_quality(report), *_extra_lines(report)])
    shown = table.to_html(border=0) if table is not None else f"<pre>{escape(report_text(report))}</pre>"
    return f"<div><p>{body}</p>{shown}<ul>{notes}</ul></div>" if notes else f"<div><p>{body}</p>{shown}</div>"


@dataclass(frozen=True, slots=True, eq=False)
class FitReport(FitBlocks):
    """Everything about one fit; prints as text, shows as HTML in a notebook (see `FitBlocks` for what it holds)."""

    def text(self) -> str:
        """The report for people."""
        return report_text(self)

    def parts(self) -> tuple[str, dict[str, list[str]], str]:
        """The report for people who lay out its table themselves: the lines above it, its cells by heading, the lines below."""
        below = [line for block in (_coefficient_notes, _quality, _extra_lines, _row_lines, _notes) for line in block(self)]
        return "\n".join(_heading(self)), {"term": list(self.names), **coefficient_cells(self)}, "\n".join(below)

    def __str__(self) -> str:
        """The same as ``text``."""
        return self.text()

    def _repr_html_(self) -> str:
        return report_html(self)
