"""Figure 11: the parts of both threads' iterations."""

from __future__ import annotations

import pandas as pd

from mlperf.report.figures.figures import counted, new_figure
from mlperf.report.paper.bars import HATCHED, part_looks, stacked_bars
from mlperf.report.paper.result import Drawing
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.run_rows import KEYS, RunRows, chosen_setting, run_rows

THREADS = (("gpu", "GPU thread", "gpu_iteration_s"), ("update", "Update thread", "update_iteration_s"))


def part_drawings(material: FigureInputs) -> list[Drawing]:
    """Measured and predicted parts of one setting of each mode."""
    return [drawing(rows) for rows in run_rows(material)]


def drawing(rows: RunRows) -> Drawing:
    """Two bars for each thread."""
    setting = chosen_setting(rows)
    table = rows.parts[(rows.parts[KEYS] == setting[KEYS]).all(axis=1)].reset_index(drop=True)
    figure = new_figure(9.2, 4.6)
    for axes, (activity, title, output) in zip(figure.subplots(2, 1), THREADS, strict=True):
        parts = table[table["activity"] == activity].set_index("component")
        locks = [name for name in parts.index if name.startswith(HATCHED)]
        bars = {"measured": parts["measured_s"]}
        if parts["predicted_s"].notna().any():
            bars["predicted"] = parts["predicted_s"]
        stacked_bars(axes, bars, part_looks(list(parts.index), hatched=locks), {"measured": iteration_ends(setting, parts, output)})
        axes.set_title(title)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), borderaxespad=0.4, fontsize=8, handlelength=1.5, labelspacing=0.3)
    return Drawing(rows.mode, caption(rows, setting), table, figure)


def iteration_ends(setting: pd.Series, parts: pd.DataFrame, output: str) -> tuple[float, float]:
    """Least and greatest iteration over the repeats, as far from the sum of the parts as they are from the mean iteration."""
    total = float(parts["measured_s"].sum())
    return total * setting[f"{output}_min"] / setting[output], total * setting[f"{output}_max"] / setting[output]


def caption(rows: RunRows, setting: pd.Series) -> str:
    """Which setting, which mode, how it was predicted."""
    nodes, gpus = counted(int(setting["n_nodes"]), "node"), counted(int(setting["n_gpus_per_node"]), "GPU")
    runs = (
        "one run"
        if setting["n_runs"] == 1
        else f"mean of {setting['n_runs']} runs, whiskers: least and greatest iteration of a run"
    )
    return (
        f"Parts of one iteration of {setting['cnn']} on {nodes} with {gpus} each, sub-batch {setting['subbatch_size']}. "
        f"Mode: {rows.mode}. Measured: {runs}; {rows.how}. Hatched: waits for locks; the all-reduce holds the wait at its barrier."
    )
