"""Accuracy on open measurements as a file: Markdown, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole
from mlperf.studies.open_data.scoring.result import ABSENT, Goal, OpenAccuracy, Score, limit_text, number, percent, reached_text

INTRODUCTION = """\
# Accuracy on open measurements

`mlperf accuracy -o accuracy.md` writes this page from the folder that `MLPERF_SHARED_DATA` names; `--limits FILE` sets goals beside
what was reached (those published here are `tests/acceptance/open_data.toml`). None of the measurements are part of the package.
Every figure is of rows that the method had not seen; whatever a method chooses (neighbours, terms, a member of the family) it
chooses inside its training rows. A missed goal stays in the table.

- method: `default` is what the package takes unasked, `best` the family's best chosen inside the training rows; OLS and WLS are
  global fits of all terms with weights 1 and 1/t²; HGB is histogram boosting of log time, 250 rounds; `ratio` the global weighted
  model times what its neighbours are off by; `local` a small linear model on the nearest rows; `boosted` a non-negative model
  times boosted trees.
- R² adj: of the left-out rows, about their mean, adjusted for the number of terms. MAPE, med, q3, max: mean, median, third
  quartile and largest of |predicted - measured| / measured; negative predictions count as 0 (their share and the MAPE with them
  as they are stand in the last column).
- repeats: how far repeats of one measurement scatter, where they were kept. in domain: share of the left-out rows inside the
  measured domain.
- T1 and T2 run `mlperf train` and `mlperf predict` on their defaults on the tables of other tasks; their coverage is of rows in
  domain. Rounds of boosting, the forms of terms that are tried, which left-out rows make the intervals and what answers beyond few
  rows were set with these rows in view. The best method with terms is that of five: ols, log, ratio, local, boosted.
- The ratio form, the composed terms of E1, the forms of B1 and, of the costs of a step (C2 to C11), their prior, the robust loss
  and what fills a pipeline were written down with these rows in view: expect a little more elsewhere.
- covered, width: share of the left-out rows inside their 95 % prediction interval; median half-width over the prediction.
- fit: CPU seconds of all fits, choices inside the training rows included.
"""


def accuracy_page(found: OpenAccuracy) -> str:
    """The whole page, one newline at the end."""
    parts = [INTRODUCTION, summary(found)]
    parts += [task_section(found, name) for name in found.protocols]
    return "\n".join(parts)


def summary(found: OpenAccuracy) -> str:
    """The tasks with their CPU seconds; with limits, the goals met and every goal that was missed."""
    if not found.goals:
        rows = [(name, about["title"], f"{found.seconds[name]:.0f}") for name, about in found.protocols.items()]
        return "\n".join(["## Tasks", "", *table(("task", "claim", "CPU s"), rows)]) + "\n"
    n_met = len(found.goals) - len(found.missed())
    lines = ["## Goals", "", f"{n_met} of {len(found.goals)} goals met.", ""]
    lines += table(("task", "claim", "goals met", "missed", "CPU s"), [summary_row(found, name) for name in found.protocols])
    return "\n".join(lines) + "\n"


def summary_row(found: OpenAccuracy, name: str) -> tuple[str, ...]:
    """One task of the summary."""
    goals = [goal for goal in found.goals if goal.task == name]
    missed = "; ".join(f"{goal.device} {goal.what} {reached_text(goal)} ({limit_text(goal)})" for goal in goals if not goal.met)
    met = f"{sum(goal.met for goal in goals)} of {len(goals)}"
    return (name, found.protocols[name]["title"], met, missed or "none", f"{found.seconds[name]:.0f}")


def task_section(found: OpenAccuracy, name: str) -> str:
    """Goals (findings where no limits were given), methods and notes of one task."""
    protocol = found.protocols[name]
    goals = [goal for goal in found.goals if goal.task == name]
    findings = [one for one in found.findings if one.task == name and not found.goals]
    lines = [f"## {name}: {protocol['title']}", "", f"Data: {protocol['data']}. Split: {protocol['split']}.", ""]
    if goals:
        lines += [*table(("device", "goal", "reached", "limit", "met"), [goal_row(goal) for goal in goals]), ""]
    if findings:
        lines += [*table(("device", "finding", "reached"), [(one.device, one.what, reached_text(one)) for one in findings]), ""]
    lines += score_table([one for one in found.scores if one.task == name])
    lines += ["", *(f"- {note}" for note in found.notes[name])] if found.notes[name] else []
    return "\n".join(lines) + "\n"


def goal_row(goal: Goal) -> tuple[str, ...]:
    """One goal."""
    return (goal.device, goal.what, reached_text(goal), limit_text(goal), "yes" if goal.met else "**no**")


COLUMNS: Mapping[str, Callable[[Score], str]] = {
    "device": lambda one: one.device,
    "part": lambda one: one.part,
    "method": lambda one: one.method,
    "role": lambda one: one.role,
    "train": lambda one: number(one.n_train),
    "test": lambda one: number(one.n_test),
    "groups": lambda one: number(one.n_groups),
    "R² adj": lambda one: number(one.r2_adj),
    "MAPE": lambda one: percent(one.mape),
    "med": lambda one: percent(one.median),
    "q3": lambda one: percent(one.q3),
    "max": lambda one: percent(one.max),
    "repeats": lambda one: percent(one.noise_floor),
    "in domain": lambda one: percent(one.in_domain),
    "covered": lambda one: percent(one.coverage),
    "width": lambda one: percent(one.half_width),
    "fit s": lambda one: f"{one.fit_s:.2f}",
    "chosen; notes": lambda one: remark(one),
}


def remark(one: Score) -> str:
    """What the method chose, and how many predictions were negative."""
    negative = f"{percent(one.nonpositive)} of the predictions not positive: {percent(one.mape_unclipped)} unclipped"
    return "; ".join(part for part in (one.choice, negative if one.nonpositive > 0 else "") if part)


def score_table(scores: Sequence[Score]) -> list[str]:
    """Every method, columns that are empty everywhere left out."""
    cells = {heading: [text(one) for one in scores] for heading, text in COLUMNS.items()}
    used = [heading for heading, column in cells.items() if any(cell not in ("", ABSENT) for cell in column)]
    return table(used, [tuple(cells[heading][row] for heading in used) for row in range(len(scores))])


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") or " " for cell in line) + " |" for line in lines]


FORMAT, VERSION = "mlperf-accuracy", 1


def csv_text(found: OpenAccuracy) -> str:
    """One row a method, device and task."""
    return str(found.score_frame().to_csv(index=False, lineterminator="\n"))


def json_text(found: OpenAccuracy) -> str:
    """Every field of the result."""
    return (
        json.dumps({"format": FORMAT, "version": VERSION, **found.to_dict()}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    )


FORMATS: Mapping[str, Callable[[OpenAccuracy], str]] = {".md": accuracy_page, ".csv": csv_text, ".json": json_text}


def check_ending(path: Path) -> None:
    """Raise UsageError where no format belongs to the ending of ``path``."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"got ending {path.suffix!r}, expected one of {', '.join(FORMATS)}", place=str(path))


def write_accuracy(found: OpenAccuracy, path: Path | str) -> None:
    """Write the whole table, or nothing, in the form that the ending says.

    Raises
    ------
    UsageError
        The ending is none of ``.md``, ``.csv``, ``.json``.
    """
    target = Path(path)
    check_ending(target)
    write_text_whole(target, FORMATS[target.suffix.lower()](found))
