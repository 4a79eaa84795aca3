"""How studies of kernels are shown, and written as one HTML page or Markdown; in-sample figures are named as such."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole
from mlperf.core.shown import records_frame
from mlperf.report.figures.html import Picture, write_page
from mlperf.report.figures.kernel_plots import operations_by_pattern, times_by_pattern
from mlperf.report.text.tables import frame_columns
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.studies.kernels.group_study import GroupScore
    from mlperf.studies.kernels.kernel_model import KernelModel, KernelPredictions
    from mlperf.studies.kernels.published import PublishedModel
    from mlperf.studies.kernels.study import KernelStudy

ESTIMATES = {
    "features": "features",
    "learner": "learner",
    "n_columns": "columns",
    "n_terms": "terms",
    "r2_adj": "R²_adj_in_sample",
    "cv_r2": "CV_R²",
    "mape": "CV_mape",
    "median": "CV_median_error",
    "q3": "CV_third_quartile_error",
    "rank": "CV_rank",
    "feature_ceiling": "R²_ceiling_of_features",
    "noise": "R²_ceiling_of_noise",
    "noise_mape": "noise_mape",
    "nonpositive": "nonpositive_share",
    "in_domain": "in_domain_share",
    "coverage": "coverage",
    "half_width": "half_width",
    "fit_s": "fit_s",
}
LESS = (
    *(
        "fit_s",
        "R²_ceiling_of_noise",
        "noise_mape",
        "R²_ceiling_of_features",
        "half_width",
        "coverage",
        "columns",
        "in_domain_share",
    ),
    *("nonpositive_share", "CV_third_quartile_error", "CV_median_error", "R²_adj_in_sample", "terms", "CV_rank"),
    *("largest_vif", "condition_number", "largest_p_value", "f_p_value", "n_terms"),
    *("rank_of_twins", "rank_of_repeats", "R²_of_twins", "twins_mape", "R²_of_repeats", "programs"),
    *("ceiling_kappa", "majority_accuracy", "quartile_1", "quartile_3", "min", "count"),
    *("clock_s", "n_groups", "n_rows", "n", "rank", "median", "q3", "max", "mean_error", "half_width", "kendall_tau"),
)
"""What a narrow terminal leaves out of the tables, the first to go first."""
OPTIONAL = ("coverage", "half_width")
TESTS = ("features", "n_terms", "r2_adj", "cv_r2", "mape", "f_p_value", "largest_p_value", "condition_number", "largest_vif")
SIGNIFICANCE = """\
Significance is not accuracy: p-values are of the rows that chose the terms, and a model may be significant in every term and err by
half. Signs and sizes of single counts mean nothing where VIF is above 10."""


def study_sections(result: KernelStudy) -> tuple[Section, ...]:
    """Every table of the study that has rows."""
    parts = [
        Section("Kernels", about(result), secondary=LESS),
        *estimate_sections(result),
        *group_sections(result),
        *physical_sections(result),
    ]
    parts += [*speedup_sections(result), *size_sections(result), *transfer_sections(result), *published_sections(result)]
    parts.append(Section("Operations per clock cycle", operations_summary(result), secondary=LESS))
    parts.append(Section("", text=f"Clock cycles: {result.clock}."))
    if result.notes:
        parts.append(Section("Notes", text="\n".join(f"- {note}" for note in result.notes)))
    return tuple(parts)


def about(result: KernelStudy) -> pd.DataFrame:
    """The table and its noise."""
    noise = result.noise
    return pd.DataFrame(
        [
            {
                "table": result.name,
                "sweep": result.setting,
                "kernels": result.n_rows,
                "programs": result.n_groups,
                "R²_of_repeats": noise.r2,
                "repeats_mape": noise.mape,
                "rank_of_repeats": noise.rank,
                "R²_of_twins": noise.twin_r2,
                "twins_mape": noise.twin_mape,
            }
        ]
    )


def estimate_sections(result: KernelStudy) -> list[Section]:
    """Errors of every feature set and learner, then what the tests of the linear models say."""
    if not result.estimates:
        return []
    frame = result.to_frame().assign(noise=result.noise.r2, noise_mape=result.noise.mape)
    tests = frame[frame["r2_adj"].notna()][list(TESTS)].rename(columns=ESTIMATES)
    title = f"Estimate: folds keep programs that differ in names only together; best: {result.best}"
    parts = [Section(title, estimate_table(frame), secondary=LESS)]
    if result.counted and result.counted_noise is not None:
        beside = {"noise": result.counted_noise.r2, "noise_mape": result.counted_noise.mape}
        counted = frame_of(result.counted).assign(**beside)
        title = f"Counters of a finished run beside static sets: {result.counted_setting}"
        parts.append(Section(title, estimate_table(counted), secondary=LESS))
    if len(tests):
        parts += [
            Section("Linear models in sample, beside their left-out error", tests, secondary=LESS),
            Section("", text=SIGNIFICANCE),
        ]
    return parts


def estimate_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Figures of every feature set and learner; in-sample ones are named so."""
    known = [name for name in ESTIMATES if name not in OPTIONAL or frame[name].notna().any()]
    shown = frame[known].rename(columns=ESTIMATES)
    return shown.assign(terms=shown["terms"].where(shown["terms"] > 0))


def group_sections(result: KernelStudy) -> list[Section]:
    """Scores of every way of telling groups, and the confusion matrix of the most accurate."""
    if not result.groups:
        return []
    rows = [one.row() for one in result.groups]
    ceiling = result.group_ceiling
    frame = pd.DataFrame(rows).rename(columns={"features": "features", "majority": "majority_accuracy"})
    if ceiling is not None:
        frame = frame.assign(ceiling_accuracy=ceiling.accuracy, ceiling_kappa=ceiling.kappa)
    best = max(result.groups, key=lambda one: one.scores.accuracy)
    return [
        Section("Performance groups of left-out kernels; edges are those of each fold's training rows", frame, secondary=LESS),
        Section(f"Confusion: {best.features}, {best.method}, {best.way}", confusion(best)),
    ]


def confusion(score: GroupScore) -> pd.DataFrame:
    """Kernels by measured (row) and predicted (column) group."""
    counts = score.scores.confusion
    columns = {f"predicted_{number + 1}": counts[:, number] for number in range(len(counts))}
    return pd.DataFrame({"measured": [f"group {number + 1}" for number in range(len(counts))], **columns})


def physical_sections(result: KernelStudy) -> list[Section]:
    """Three costs with their tests."""
    model = result.physical
    if model is None:
        return []
    words = (
        f"adjusted R² {model.r2_adj:.4f} in sample; left out, no cost below zero: R² {model.cv_r2:.4f}, "
        f"MAPE {100 * model.mape:.1f} %, rank {model.rank:.3f} ({model.n_rows} kernels)"
    )
    title = "Physical model: nanoseconds for each instruction, line and page per execution of the innermost statement"
    return [Section(title, model.coefficients), Section("", text=words)]


def speedup_sections(result: KernelStudy) -> list[Section]:
    """Is vectorising worth it."""
    if not result.speedups:
        return []
    return [
        Section("Speed-up over scalar code, left-out patterns: is vectorising worth it", frame_of(result.speedups), secondary=LESS)
    ]


def size_sections(result: KernelStudy) -> list[Section]:
    """A size that nobody measured."""
    if not result.sizes:
        return []
    frame = frame_of(result.sizes).rename(columns={"bias": "mean_error", "in_domain": "in_domain_share"})
    frame["trained_sizes"] = [", ".join(map(str, one.trained_sizes)) for one in result.sizes]
    return [Section("New size, time per iteration", frame, secondary=LESS)]


def transfer_sections(result: KernelStudy) -> list[Section]:
    """The price of generality, then every build and machine."""
    if not result.transfers:
        return []
    from mlperf.studies.kernels.transfer import price_of_generality

    price = price_of_generality(result.transfers).rename(columns={"rise_of_mape": "rise_of_error"})
    every = frame_of(result.transfers).rename(columns={"bias": "mean_error", "in_domain": "in_domain_share"})
    return [
        Section("Special and general models, means over builds or machines: the price of generality", price, secondary=LESS),
        Section("Special and general models, each build or machine left out", every, secondary=LESS),
    ]


def frame_of(scores: Sequence[Any]) -> pd.DataFrame:
    """One line a score, of at least one."""
    return records_frame(type(scores[0]), scores)


def published_sections(result: KernelStudy) -> list[Section]:
    """What the printed equation makes of these rows."""
    if not result.published:
        return []
    return [
        Section("The published equation 2 on these rows (another machine and compiler)", pd.DataFrame([dict(result.published)]))
    ]


def operations_summary(result: KernelStudy) -> pd.DataFrame:
    """Quartiles of operations per cycle by family, build and size."""
    frame = result.operations
    value = "operations_per_cycle" if frame["operations_per_cycle"].notna().any() else "operations_per_s"
    spread = frame.groupby(["pattern_set", "build", "N"], sort=False)[value].describe()[
        ["count", "min", "25%", "50%", "75%", "max"]
    ]
    return spread.rename(columns={"25%": "quartile_1", "50%": "median", "75%": "quartile_3"}).reset_index().assign(of=value)


def study_figure(result: KernelStudy) -> Figure:
    """Measured and predicted times per pattern; operations per cycle where nothing was predicted."""
    from mlperf.report.figures.kernel_plots import operations_by_pattern, times_by_pattern

    if len(result.predictions):
        return times_by_pattern(result.predictions, title=f"{result.setting}: left-out predictions of {result.best}")
    return operations_by_pattern(result.operations, result.clock)


def model_sections(result: KernelModel) -> tuple[Section, ...]:
    """What the model is, and how it did on left-out kernels."""
    frame = result.to_frame().rename(columns={"cv_r2": "CV_R²", "mape": "CV_mape", "rank": "CV_rank"})
    return (
        Section("Model of kernels", frame, secondary=LESS),
        Section("", text=f"Caches: {result.machine.name} ({result.machine.source})."),
    )


def prediction_sections(result: KernelPredictions) -> tuple[Section, ...]:
    """The rows, then the score where times were measured."""
    parts = (Section("", result.to_frame()),)
    return (
        (*parts, Section("Against measured times (R² of the time per iteration)", pd.DataFrame([dict(result.score)])))
        if result.score
        else parts
    )


def prediction_figure(result: KernelPredictions) -> Figure:
    """Measured against predicted times."""
    from mlperf.report.figures.kernel_plots import times_by_pattern

    frame = result.to_frame()
    named = frame.rename(columns={"run_lower_s": "lower_s", "run_upper_s": "upper_s"})
    return times_by_pattern(named.assign(measured_s=result.measured_s), title="Predicted times")


def equation_sections(result: PublishedModel) -> tuple[Section, ...]:
    """Coefficients, then warnings."""
    words = "\n".join([f"Fitted on: {result.setting}.", *(f"- {text}" for text in result.warnings)])
    return (
        Section(f"{result.name} ({result.source}), adjusted R² {result.r2_adj} in sample", result.to_frame()),
        Section("", text=words),
    )


def write_study_page(path: Path, result: KernelStudy) -> None:
    """Write one self-contained page: tables, operations per cycle, measured and predicted times."""
    pictures = [Picture("Operations per clock cycle", operations_by_pattern(result.operations, result.clock))]
    if len(result.predictions):
        caption = f"Every kernel is predicted by a model that saw neither it nor its twin: {result.best}."
        pictures.append(
            Picture("Measured and predicted times", times_by_pattern(result.predictions, title=result.setting), caption)
        )
    write_page(path, f"Study of {result.name}", [*study_sections(result), *pictures], lead=result.setting)


def write_study_tables(path: Path, result: KernelStudy) -> None:
    """Write the tables as Markdown.

    Raises
    ------
    UsageError
        The file's name does not end in ``.md``.
    """
    if path.suffix != ".md":
        raise UsageError(f"got ending {path.suffix!r}, expected .md", place=str(path), hint="--json prints everything as JSON.")
    lines = [f"# Study of {result.name}", "", f"{result.setting}.", ""]
    for section in study_sections(result):
        lines += section_lines(section)
    write_text_whole(path, "\n".join(lines).rstrip() + "\n")


def section_lines(section: Section) -> list[str]:
    """One section as Markdown."""
    lines = [f"## {section.title}", ""] if section.title else []
    if section.frame is None:
        return [*lines, section.text, ""]
    columns = frame_columns(section.frame)
    rows = [[column.heading for column in columns], ["---:" if column.is_number else "---" for column in columns]]
    rows += [list(cells) for cells in zip(*(column.cells for column in columns), strict=True)]
    return [*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows), ""]
