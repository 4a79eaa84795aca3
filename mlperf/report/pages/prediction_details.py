"""What a prediction tells beside its means, for people: distributions, forms, simulation, elasticities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import GREY, PALETTE, new_figure, style
from mlperf.report.figures.plots import draw_component_bars
from mlperf.report.text.numbers import seconds_alike
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlperf.planning.run_prediction import Prediction
    from mlperf.systems.base.distributions import Distribution

KEYS = ("cnn", "n_nodes", "n_gpus_per_node", "subbatch_size")
LESS = (
    *("by", ("q25", "q75"), "std", "kind", "activity", "recommended", "mean_staleness", "minibatch_std"),
    *("update_iteration_elasticity", "std_err", ("q05", "q95"), "n_gpus_per_node"),
)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
COUNTED = {"minibatch": "mini-batch size (samples)", "staleness": "staleness (updates)"}


def detail_sections(result: Prediction) -> tuple[Section, ...]:
    """Sections for what the result holds beside its outputs."""
    tables = (
        ("Distributions", distributions(result)),
        ("Forms of the equations", forms(result)),
        (simulation_title(result), simulation(result)),
        ("Elasticities: change of the outputs in % when a component becomes 1 % slower", result.elasticities),
    )
    return tuple(
        Section(title, keyed(result, frame), secondary=LESS) for title, frame in tables if frame is not None and len(frame)
    )


def keyed(result: Prediction, frame: pd.DataFrame) -> pd.DataFrame:
    """The keys of each row's configuration in place of its position; nothing where there is one configuration only."""
    rest = frame.drop(columns="config")
    if len(result.cnn) == 1:
        return rest
    keys = result.to_frame()[list(KEYS)].iloc[frame["config"]].reset_index(drop=True)
    return pd.concat([keys, rest.reset_index(drop=True)], axis="columns")


def distributions(result: Prediction) -> pd.DataFrame | None:
    """Mean, deviation and quantiles of both counts, by the equations and as simulated."""
    rows = [
        {"config": config, "quantity": COUNTED[name], "by": source, **summary(distribution)}
        for source, config, name, distribution in every_distribution(result)
    ]
    return pd.DataFrame(rows) if rows else None


def every_distribution(result: Prediction) -> Iterator[tuple[str, int, str, Distribution]]:
    """(form or "simulation", configuration, name, distribution) of all that the result holds."""
    sources = ((result.refine or result.closed, result), ("simulation", result.simulation))
    for config in range(len(result.cnn)):
        for name in COUNTED:
            for source, holder in sources:
                found = getattr(holder, name, None)
                if found is not None:
                    yield source, config, name, found[config]


def summary(distribution: Distribution) -> dict[str, float]:
    """Mean, standard deviation, quantiles."""
    quantiles = np.atleast_1d(distribution.quantile(LEVELS))
    named = {f"q{round(100 * level):02}": float(value) for level, value in zip(LEVELS, quantiles, strict=True)}
    return {"mean": distribution.mean, "std": distribution.std, **named}


def forms(result: Prediction) -> pd.DataFrame | None:
    """Forms side by side, the simulation among them where there is one; the lock waits stay in the record."""
    if result.forms is None:
        return None
    table = result.forms
    if result.simulation is not None:
        table = pd.concat([table, simulated_rows(result)]).sort_values("config", kind="stable", ignore_index=True)
    return table[[name for name in table.columns if not name.startswith("lock_")]]


def simulated_rows(result: Prediction) -> pd.DataFrame:
    """The simulation in the columns of the table of forms."""
    if result.simulation is None or result.forms is None:
        return pd.DataFrame()
    wide = result.simulation.table.pivot(index="config", columns="quantity", values="simulated").reset_index()
    names = [name for name in result.forms.columns if name in wide.columns]
    recommended = [form == "simulation" for form in result.recommended]
    return wide[names].assign(form="simulation", recommended=recommended)[list(result.forms.columns)]


def simulation_title(result: Prediction) -> str:
    """How long the simulation was."""
    if result.simulation is None:
        return ""
    updates = ", ".join(f"{n:,}" for n in sorted(set(result.simulation.n_updates)))
    return f"Simulation beside the equations ({result.simulation.form}): {updates} updates counted"


def simulation(result: Prediction) -> pd.DataFrame | None:
    """The table of the simulation; times as `Seconds`, each row with a unit of its own."""
    if result.simulation is None:
        return None
    table = result.simulation.table.copy()
    is_time = table["quantity"].str.endswith("_s")
    columns = ["equations", "simulated", "std_err"]
    rows = [seconds_alike(row) if timed else row for timed, row in zip(is_time, table[columns].to_numpy(float), strict=True)]
    for place, column in enumerate(columns):
        table[column] = pd.Series([row[place] for row in rows], dtype=object, index=table.index)
    table["quantity"] = [name.removesuffix("_s").replace("_", " ") for name in table["quantity"]]
    return table


def detailed_figure(result: Prediction, bars: dict[str, dict[str, float]], title: str) -> Figure:
    """Bars of one configuration's threads above its distributions, and its elasticities below them."""
    with style():
        rows = 2 + (result.elasticities is not None)
        figure = new_figure(7.6, 5.0 + 3.8 * (rows == 3))
        grid = figure.add_gridspec(rows, 2, height_ratios=(0.7, 1.0, 1.8)[:rows])
        draw_component_bars(figure.add_subplot(grid[0, :]), bars, title=title, legend_below=True)
        for column, name in enumerate(COUNTED):
            draw_distributions(figure.add_subplot(grid[1, column]), result, name)
        if result.elasticities is not None:
            draw_elasticities(figure.add_subplot(grid[2, :]), result.elasticities)
    return figure


MOST_BARS = 40
"""As thin as this part of the range, bars of far counts are still seen."""


def draw_distributions(axes: Axes, result: Prediction, name: str) -> None:
    """Probabilities of one count by the equations, and as simulated; dashed lines are means."""
    drawn = [(source, found) for source, _, which, found in every_distribution(result) if which == name]
    step = float(np.min([np.diff(found.values).min() for _, found in drawn if found.values.size > 1], initial=np.inf))
    width = step if np.isfinite(step) else 1.0
    highest = max(float(found.probabilities.max()) for _, found in drawn)
    low, high = (min(found.quantile(0.001) for _, found in drawn), max(found.quantile(0.999) for _, found in drawn))
    # Counts are whole: a bar of a count reaches half a count to either side, or as far as the eye needs, and not below none.
    bar = min(0.9 * width, max(0.9, (high - low) / MOST_BARS))
    for (source, found), color, filled in zip(drawn, PALETTE, (True, False), strict=False):
        if filled:
            axes.bar(
                found.values,
                found.probabilities,
                width=bar,
                color=color,
                alpha=0.75,
                linewidth=0,
                label=f"equations ({source})",
            )
        else:
            axes.plot(found.values, found.probabilities, color=color, marker="o", markersize=3.0, linewidth=1.0, label=source)
        axes.plot([found.mean] * 2, [0.0, highest], color=color, linewidth=1.0, linestyle="--")
    axes.set(xlim=(max(low - 0.75 * width, -0.75 * bar), high + 1.5 * width), ylim=(0.0, highest * (1.05 + 0.15 * len(drawn))))
    axes.set(xlabel=f"{COUNTED[name]}; dashed: mean", ylabel="probability")
    axes.set_title(COUNTED[name].partition(" (")[0].capitalize(), fontsize=9)
    axes.legend(loc="upper right", fontsize=7.5, ncols=len(drawn))


def draw_elasticities(axes: Axes, table: pd.DataFrame) -> None:
    """Horizontal bars: epoch time and mini-batch size by component."""
    shown = table[table["config"] == table["config"].iloc[0]]
    place = np.arange(len(shown))
    columns = (("epoch_elasticity", "epoch time"), ("mean_minibatch_elasticity", "mean mini-batch"))
    for shift, (column, label), color in zip((-0.2, 0.2), columns, PALETTE, strict=False):
        axes.barh(place + shift, shown[column], height=0.38, color=color, label=label)
    axes.set_yticks(place, labels=[name.replace("_", " ") for name in shown["component"]], fontsize=7.5)
    axes.invert_yaxis()
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="% change when the component becomes 1 % slower")
    axes.set_title("Elasticities", fontsize=9)
    axes.legend(loc="lower right", fontsize=7.5)
