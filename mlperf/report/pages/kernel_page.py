"""A study of kernels as files: one HTML page with both figures, or the tables as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole
from mlperf.report.figures.html import Picture, write_page
from mlperf.report.figures.kernel_plots import operations_by_pattern, times_by_pattern
from mlperf.report.pages.kernel_study import study_sections
from mlperf.report.text.tables import frame_columns
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.studies.kernels.study import KernelStudy


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
