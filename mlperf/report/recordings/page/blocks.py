"""Parts of the page that need no script: tables, bars, the matrix, hints; all text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.printable import printable_lines
from mlperf.planning.advice.advise import Advice
from mlperf.planning.advice.findings import INCONCLUSIVE
from mlperf.report.recordings.page.tables import PageTable
from mlperf.report.text.answer import plain_time, time_range_text
from mlperf.report.text.numbers import BYTE_UNITS, best_unit, number_text, percent_text
from mlperf.report.text.tables import frame_columns

MOST_ROWS = 500
MOST_PLACES = 24
OTHERS = "all others"


def bytes_text(value: float) -> str:
    """Bytes with three digits in the unit that suits."""
    unit = best_unit([value], BYTE_UNITS, "B")
    return f"{number_text(value / BYTE_UNITS[unit], 3)} {unit}"


def text(value: object) -> str:
    """Foreign text as HTML shows it."""
    return escape(printable_lines(str(value)), quote=True)


def table_block(table: PageTable) -> str:
    """A table under its heading; long ones closed at first, cut with a sentence where they have more rows than a page shows."""
    shown = table.frame.iloc[:MOST_ROWS]
    more = len(table.frame) - len(shown)
    cut = f"<p>{more:,} more rows are in the tables that --tables writes.</p>" if more else ""
    about = f"<p class=about>{text(table.about)}</p>" if table.about else ""
    inner = f"{about}{frame_html(shown, table.title)}{cut}"
    if table.is_long:
        return f"<details><summary>{text(table.title)} ({len(table.frame):,} rows)</summary>{inner}</details>"
    return f"<h3>{text(table.title)}</h3>{inner}"


def frame_html(frame: pd.DataFrame, caption: str) -> str:
    """A data frame as a table, numbers with units."""
    columns = frame_columns(frame, "auto")
    classes = [" class=n" if column.is_number else "" for column in columns]
    head = "".join(f"<th scope=col{kind}>{text(column.heading)}</th>" for column, kind in zip(columns, classes, strict=True))
    rows = (
        "<tr>" + "".join(f"<td{kind}>{text(cell)}</td>" for cell, kind in zip(cells, classes, strict=True)) + "</tr>"
        for cells in zip(*(column.cells for column in columns), strict=True)
    )
    label = f' tabindex=0 role=region aria-label="{text(caption)}"'
    return f"<div class=wide{label}><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def bar_block(title: str, parts: Sequence[tuple[str, float, str]], total: float) -> str:
    """Parts of a whole side by side, with a legend: name, size, size in words."""
    shown = [(name, size, words) for name, size, words in parts if size > 0]
    if total <= 0 or not shown:
        return ""
    pieces = "".join(
        f'<span class="piece c{number % 12}" style="width:{100 * size / total:.3f}%" title="{text(name)}: {text(words)}"></span>'
        for number, (name, size, words) in enumerate(shown)
    )
    legend = "".join(
        f"<li><i class=c{number % 12}></i>{text(name)} {text(words)}, {percent_text(size / total)}</li>"
        for number, (name, size, words) in enumerate(shown)
    )
    bar = f"<div class=bar aria-hidden=true>{pieces}</div><ul class=legend>{legend}</ul>"
    return f"<figure><figcaption>{text(title)}</figcaption>{bar}</figure>"


def step_bars(summary: pd.DataFrame, phases: Sequence[str]) -> str:
    """The mean step of all ranks: by processor and device, and by phase."""
    mean = summary.mean(numeric_only=True)
    step = float(mean["step_s"])
    work = [("T_cpu", "cpu_s"), ("T_gpu_kernel", "gpu_kernel_s"), ("T_gpu_comm, exposed", "gpu_exposed_comm_s")]
    by_work = [(name, float(mean[column]), plain_time(float(mean[column]))) for name, column in work]
    by_phase = [(name, float(mean[f"{name}_s"]), plain_time(float(mean[f"{name}_s"]))) for name in (*phases, "other")]
    hidden = float(mean["gpu_comm_s"] - mean["gpu_exposed_comm_s"])
    title = f"T_step {plain_time(step)}: processor and devices"
    told = (
        f"; T_gpu_comm {plain_time(float(mean['gpu_comm_s']))}, {plain_time(hidden)} of it behind kernels"
        if mean["gpu_comm_s"] > 0
        else ""
    )
    return bar_block(f"{title}{told}", by_work, step) + bar_block(f"T_step {plain_time(step)}: phases", by_phase, step)


def concurrency_bar(summary: pd.DataFrame) -> str:
    """How long each activity was the largest."""
    rows = summary[summary["time_s"] > 0]
    told = zip(rows["activity"].tolist(), rows["meaning"].tolist(), rows["time_s"].tolist(), strict=True)
    parts = [(f"{name} ({meaning})", time_s, plain_time(time_s)) for name, meaning, time_s in told]
    return bar_block("Largest activity in each window", parts, float(summary["time_s"].sum()))


def hint_block(advice: Advice) -> str:
    """Hints, the most useful first, each with what was seen, what to do, and what it brings."""
    if advice.hints.empty:
        return "<p>Nothing was found that holds the steps back.</p>"
    evidence = [each.evidence for each in advice.findings] or [{}] * len(advice.hints)
    told = (_hint(row, facts) for row, facts in zip(advice.hints.to_dict("records"), evidence, strict=True))
    return f"<ol class=hints>{''.join(told)}</ol>"


def _hint(row: Mapping[Any, Any], evidence: Mapping[str, Any]) -> str:
    inconclusive = row["verdict"] == INCONCLUSIVE
    gain = "" if pd.isna(row["saved_s"]) else f"<p class=gain>Brings {_gain(row)}</p>"
    rest = f"Inconclusive: {row['why']}." if inconclusive or row["why"] else f"To do: {row['to_do']}."
    follows = f"<p>This follows from the {text(row['follows_from'])}.</p>" if row["follows_from"] else ""
    kind = " class=unsure" if inconclusive else ""
    head = f"<h3>{text(row['cause'])}: {text(row['subject'])}</h3>"
    return f"<li{kind}>{head}{gain}<p>Seen: {text(row['seen'])}.</p><p>{text(rest)}</p>{follows}{_evidence(evidence)}</li>"


def _evidence(facts: Mapping[str, Any]) -> str:
    """What a verdict rests on, each fact with its unit."""
    if not facts:
        return ""
    return f"<details><summary>Evidence</summary>{frame_html(pd.DataFrame([dict(facts)]), 'Evidence')}</details>"


def _gain(row: Mapping[Any, Any]) -> str:
    """What a hint saves, with its interval, beside what its share of the time alone suggests."""
    saved, lower, upper, naive = (float(row[name]) for name in ("saved_s", "saved_lower_s", "saved_upper_s", "naive_s"))
    share = float(row["saved_share"])
    told = f"{time_range_text(saved, lower, upper, 0.95, 'a step')}, {percent_text(share)} of it"
    return text(told if np.isnan(naive) else f"{told}; its share of the time alone is {plain_time(naive)}")


def matrix_block(matrix: pd.DataFrame) -> str:
    """Who sends how much to whom as heat maps of bytes, time and bandwidth; colours on a logarithmic scale."""
    busiest = pd.concat([matrix.groupby(end)["size_bytes"].sum() for end in ("sender", "receiver")]).groupby(level=0).sum()
    places = list(busiest.index)
    cut = len(places) > MOST_PLACES
    if cut:
        kept = set(busiest.sort_values(ascending=False, kind="stable").index[: MOST_PLACES - 1])
        matrix = matrix.assign(**{end: matrix[end].where(matrix[end].isin(kept), OTHERS) for end in ("sender", "receiver")})
        matrix = matrix.groupby(["sender", "receiver"], sort=False).sum(numeric_only=True).reset_index()
        places = [place for place in places if place in kept] + [OTHERS]
    matrix = matrix.assign(
        rate=np.where(matrix["time_s"] > 0, matrix["size_bytes"] / matrix["time_s"].where(matrix["time_s"] > 0), np.nan)
    )
    maps = (
        ("Bytes", "size_bytes", bytes_text),
        ("Time under way", "time_s", plain_time),
        ("Bandwidth, a second", "rate", bytes_text),
    )
    shown = "".join(_heat_map(name, matrix, column, words, places) for name, column, words in maps)
    note = (
        f"<p>The {MOST_PLACES - 1} places with most traffic; {OTHERS} are summed (times then count overlaps twice).</p>"
        if cut
        else ""
    )
    about = "Rows send, columns receive: the stronger the colour, the more, on a logarithmic scale."
    return f"<p class=about>{about}</p>{note}<div class=maps>{shown}</div>"


def _heat_map(name: str, matrix: pd.DataFrame, column: str, words: Callable[[float], str], places: Sequence[str]) -> str:
    """One map as a table."""
    values = {(row.sender, row.receiver): float(getattr(row, column)) for row in matrix.itertuples()}
    known = [value for value in values.values() if value > 0]
    if not known:
        return ""
    low, high = np.log(min(known)), np.log(max(known))
    head = "".join(f"<th scope=col><span>{text(place)}</span></th>" for place in places)
    rows = []
    for one in places:
        cells = "".join(_cell(values.get((one, other), 0.0), low, high, words) for other in places)
        rows.append(f"<tr><th scope=row>{text(one)}</th>{cells}</tr>")
    body = "".join(rows)
    return (
        f"<div class=wide tabindex=0 role=region aria-label='{text(name)}'><table class=map><caption>{text(name)}</caption>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: float, low: float, high: float, words: Callable[[float], str]) -> str:
    if not value > 0:
        return "<td></td>"
    depth = 1.0 if high <= low else 0.15 + 0.85 * (np.log(value) - low) / (high - low)
    return f'<td class="{"deep" if depth > 0.55 else "pale"}" style="--d:{depth:.3f}">{text(words(value))}</td>'
