"""How features, their gain and counters are shown to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.collect.counters.counted import Counted
from mlperf.collect.counters.offers import Probe
from mlperf.datasets.dictionary.counters import COUNTERS
from mlperf.features.network.base import KEY, FeatureTable
from mlperf.report.text.answer import count_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.studies.gain import CharacteristicGain

MAX_SIDE_BY_SIDE = 6


def feature_sections(table: FeatureTable) -> tuple[Section, ...]:
    """Features with their units, a column a kernel; many kernels as the table itself, a line a kernel."""
    if len(table.frame) > MAX_SIDE_BY_SIDE:
        return (Section("", table.frame),)
    turned = table.frame.set_index(KEY).T
    numbers = turned.map(lambda value: f"{value:.6g}" if value % 1 else f"{value:.0f}")
    units = [column.unit if column.unit != "1" else "" for column in table.columns]
    shown = numbers.rename_axis(None, axis=1).reset_index(names="feature")
    shown.insert(1, "unit", units)
    return (Section("", shown),)


NAMES = {
    "median": "median_error",
    "max": "max_error",
    "gain": "gain_mape",
    "gain_std_err": "gain_std_error",
    "noise_floor": "halves_differ",
}


def gain_sections(result: CharacteristicGain) -> tuple[Section, ...]:
    """Left-out errors without and with each set, then what the figures mean."""
    table = result.table.rename(columns=NAMES)
    text = (
        f"Gradient time of {result.n_cnns} left-out CNNs ({result.n_steps} pairs of CNN and sub-batch) of {result.campaign}, "
        f"method {result.method}; whatever is chosen, is chosen inside each fold. The gain is the mean error without "
        "characteristics minus that with them: below zero they hurt; within two standard errors of zero neither is shown. "
        f"Medians of odd and of even rounds differ by {percent_text(result.noise_floor)}."
    )
    return (Section("Left-out error by candidate terms", table), Section("", text=text))


MOST_FUNCTIONS = 12
WHOLE_DIGITS = 15
VALUE_COLUMNS = ("counter", "unit", "source", "value")
MEAN_COLUMNS = (*VALUE_COLUMNS[:3], "mean", "range / mean")


def probe_sections(probe: Probe) -> tuple[Section, ...]:
    """The sources, and the counters that are not all right."""
    wanting = probe.wanting()
    sections = [Section("Sources of counters", probe.to_frame())]
    return (*sections, Section("Counters with a reservation", wanting)) if len(wanting) else tuple(sections)


def counted_sections(counted: Counted) -> tuple[Section, ...]:
    """Every counter with its unit and source; the functions with most instructions."""
    names = [str(name) for name in counted.runs if name in COUNTERS]
    scaled = {name for text in counted.runs["scaled"] for name in text.split()}
    rows = [counter_row(name, counted.runs[name], is_scaled=name in scaled) for name in names]
    columns = MEAN_COLUMNS if len(counted.runs) > 1 else VALUE_COLUMNS
    title = f"{' '.join(counted.command)}: {count_text(len(counted.runs), 'run')}, exit code {counted.command_exit_code}"
    sections = [Section(title, pd.DataFrame([row[: len(columns)] for row in rows], columns=list(columns)))]
    if counted.functions is not None:
        kept = [name for name in counted.functions.columns if not name.endswith(("_bytes", "_ways")) and name != "file"]
        sections.append(Section(functions_title(counted.functions), counted.functions[kept].head(MOST_FUNCTIONS)))
    return tuple(sections)


def functions_title(functions: pd.DataFrame) -> str:
    """How many of the functions are shown."""
    return f"Functions by instructions (cachegrind), {min(MOST_FUNCTIONS, len(functions))} of {len(functions)}"


def counter_row(name: str, values: pd.Series[float], *, is_scaled: bool) -> tuple[str, str, str, str, str]:
    """One counter over all runs."""
    counter = COUNTERS[name]
    mean = float(values.mean())
    spread = float(values.max() - values.min()) / mean if mean and values.count() > 1 else float("nan")
    text = f"{mean:,.0f}" if mean == int(mean) and abs(mean) < 10**WHOLE_DIGITS else number_text(mean)
    source = counter.source + (", scaled" if is_scaled else "")
    return name, counter.unit if counter.unit != "1" else "", source, text, percent_text(spread)
