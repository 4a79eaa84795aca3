"""How recordings of one program on more and more devices are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.figures.figures import GREY, PALETTE, apart, legend_beside, new_figure, style, time_unit
from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlperf.traces.whole_run.scaling import Scaling

PARTS = {"gpu_kernel_s": "device computes", "gpu_exposed_comm_s": "communication alone", "cpu_s": "device idle: processor"}
APART = 0.09
"""Share of half a figure's width between two numbers of devices."""


def scaling_answer(found: Scaling) -> Answer:
    """Speed-up and efficiency on the most devices."""
    first, last = found.runs.iloc[0], found.runs.iloc[-1]
    asked = f"{count_text(len(found.runs), 'recording')}, {first['n_devices']} to {last['n_devices']} devices, {found.work} work"
    between = f"{number_text(last['speed_up_lower'], 3)} to {number_text(last['speed_up_upper'], 3)}"
    told = f"{number_text(last['speed_up'], 3)} times as fast (95 %: {between})"
    return Answer(
        asked, f"{told} on {last['n_devices']} devices as on {first['n_devices']}: efficiency {percent_text(last['efficiency'])}"
    )


def scaling_sections(found: Scaling) -> tuple[Section, ...]:
    """Step, throughput, speed-up, efficiency; then parts of the step."""
    head = ["recording", "n_devices", "step_s", "step_lower_s", "step_upper_s"]
    ratios = [f"{name}{end}" for name in ("speed_up", "efficiency") for end in ("", "_lower", "_upper")]
    rate = {f"throughput{end}": f"steps_per_s{end}" for end in ("", "_lower", "_upper")}
    return (
        Section("Steps", found.runs[["n_processes", *head, "n_steps"]], secondary=("n_processes", "n_steps")),
        Section("Against the fewest devices", found.runs[["n_devices", *ratios]]),
        Section("Throughput, in steps of one device", found.runs[["n_devices", *rate]].rename(columns=rate)),
        Section("Parts of a step", found.runs[["n_devices", "step_s", *parts_of(found)]]),
        Section("", text="\n".join(sentences(found.notes))),
    )


def parts_of(found: Scaling) -> dict[str, str]:
    """Columns of a step's parts and what they are called: what devices did, or phases where no device did anything."""
    if (found.runs[["gpu_kernel_s", "gpu_exposed_comm_s"]].to_numpy() > 0).any():
        return PARTS
    return {f"{name}_s": name for name in (*found.phases, "other")}


def scaling_figure(found: Scaling) -> Figure:
    """Throughput over devices with intervals and the line of perfect scaling; parts of the step beside it."""
    with style():
        figure = new_figure(9.8, 3.6)
        left, right = figure.subplots(1, 2)
        _throughput(left, found)
        _parts(right, found)
    return figure


def _throughput(axes: Axes, found: Scaling) -> None:
    runs = found.runs
    devices, value = runs["n_devices"].to_numpy(float), runs["throughput"].to_numpy(float)
    ends = [value - runs["throughput_lower"].to_numpy(float), runs["throughput_upper"].to_numpy(float) - value]
    axes.plot(devices, value[0] * devices / devices[0], color=GREY, linestyle="--", label="perfect")
    axes.errorbar(devices, value, yerr=ends, color=PALETTE[0], marker="o", capsize=3, label="recorded, 95 % interval")
    axes.set(xlabel="devices", ylabel="one device's steps a second", title="throughput", xticks=apart(devices, devices, APART))
    axes.set_ylim(bottom=0)
    axes.legend()


def _parts(axes: Axes, found: Scaling) -> None:
    runs = found.runs
    at = range(len(runs))
    below = runs["step_s"].to_numpy(float) * 0
    unit, size_s = time_unit(runs["step_s"])
    for number, (name, label) in enumerate(parts_of(found).items()):
        values = runs[name].to_numpy(float) / size_s
        axes.bar(at, values, bottom=below, color=PALETTE[number % len(PALETTE)], label=label)
        below = below + values
    shown = apart(np.arange(len(runs), dtype=np.float64), np.arange(len(runs), dtype=np.float64), APART)
    axes.set_xticks(shown, [str(runs["n_devices"].iloc[int(place)]) for place in shown])
    axes.set(xlabel="devices", ylabel=f"time ({unit})", title="where a step's time goes")
    legend_beside(axes)
