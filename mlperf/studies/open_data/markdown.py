"""The ladder as a Markdown page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlperf.studies.open_data.result import Goal, Ladder, Score, limit_text, reached_text
from mlperf.studies.open_data.wording import ABSENT, number, percent

INTRODUCTION = """\
# Accuracy on open measurements

`mlperf accuracy -o docs/reference/accuracy.md` writes this page from the folder that `MLPERF_SHARED_DATA` names. None of the
measurements are part of the package. Every figure is of rows that the method had not seen; whatever a method chooses (neighbours,
terms, a member of the family) it chooses inside its training rows. A missed goal stays in the table.

- method: `default` is what the package takes unasked, `best` the family's best chosen inside the training rows; OLS and WLS are
  global fits of all terms with weights 1 and 1/t²; HGB is histogram boosting of log time, 250 rounds; `ratio` the global weighted
  model times what its neighbours are off by; `local` a small linear model on the nearest rows; `boosted` a non-negative model
  times boosted trees.
- R² adj: of the left-out rows, about their mean, adjusted for the number of terms. MAPE, med, q3, max: mean, median, third
  quartile and largest of |predicted - measured| / measured; negative predictions count as 0 (their share and the MAPE with them
  as they are stand in the last column).
- floor: error that no method can go below, where repeats tell it. in domain: share of the left-out rows inside the measured domain.
- The ratio form, the composed terms of E1 and the forms of B1 were written down with these rows in view: expect a little more
  elsewhere.
- covered, width: share of the left-out rows inside their 95 % prediction interval; median half-width over the prediction.
- fit: CPU seconds of all fits, choices inside the training rows included.
"""


def ladder_page(ladder: Ladder) -> str:
    """The whole page, one newline at the end."""
    parts = [INTRODUCTION, summary(ladder)]
    parts += [rung_section(ladder, name) for name in ladder.protocols]
    return "\n".join(parts)


def summary(ladder: Ladder) -> str:
    """Goals met by rung, and every goal that was missed."""
    met = sum(goal.met for goal in ladder.goals)
    rows = [summary_row(ladder, name) for name in ladder.protocols]
    lines = ["## Goals", "", f"{met} of {len(ladder.goals)} goals met.", ""]
    lines += table(("rung", "claim", "goals met", "missed", "CPU s"), rows)
    return "\n".join(lines) + "\n"


def summary_row(ladder: Ladder, name: str) -> tuple[str, ...]:
    """One rung of the summary."""
    goals = [goal for goal in ladder.goals if goal.rung == name]
    missed = "; ".join(f"{goal.device} {goal.what} {reached_text(goal)} ({limit_text(goal)})" for goal in goals if not goal.met)
    met = f"{sum(goal.met for goal in goals)} of {len(goals)}"
    return (name, ladder.protocols[name]["title"], met, missed or "none", f"{ladder.seconds[name]:.0f}")


def rung_section(ladder: Ladder, name: str) -> str:
    """Goals, methods and notes of one rung."""
    protocol = ladder.protocols[name]
    goals = [goal for goal in ladder.goals if goal.rung == name]
    scores = [one for one in ladder.scores if one.rung == name]
    lines = [f"## {name}: {protocol['title']}", "", f"Data: {protocol['data']}. Split: {protocol['split']}.", ""]
    if goals:
        lines += [*table(("device", "goal", "reached", "limit", "met"), [goal_row(goal) for goal in goals]), ""]
    lines += score_table(scores)
    lines += ["", *(f"- {note}" for note in ladder.notes[name])] if ladder.notes[name] else []
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
    "floor": lambda one: percent(one.noise_floor),
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
