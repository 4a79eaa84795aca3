"""SOFA's three case studies in small: ``python docs/make_case_studies.py --run``.

The third one is measured: real against synthetic input on more and more cores and workers. Without ``--run`` the page
``docs/how-to/case_studies.md`` and its figure are made from the rows that are kept in ``tests/reference/case_studies``, and for the
first two from those of ``tests/reference/planted_faults``. The protocol is ``tests/acceptance/case_studies.toml``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from make_planted_faults import KEPT as FAULTS
from make_planted_faults import PROTOCOL as FAULT_PROTOCOL
from make_planted_faults import missed_of, table
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlperf.report.figures.figures import GREY, PALETTE, new_figure, save_figure, style
from mlperf.studies.case_studies.campaign import run_case_studies
from mlperf.studies.case_studies.judgement import CaseJudgement, judge_case_studies
from mlperf.studies.case_studies.protocol import CORES, CaseProtocol, read_case_protocol
from mlperf.studies.planted_faults.judgement import judge_faults
from mlperf.studies.planted_faults.protocol import read_fault_protocol

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "tests" / "acceptance" / "case_studies.toml"
KEPT = ROOT / "tests" / "reference" / "case_studies"
EARLIER = {
    "second": """These were made of the same predictor.""",
    "first": """These were made before samples were weighed by what the scheduler counts of every thread, which changes what a
worker's batch computes.""",
}
"""Folders of runs made before, and what sets them apart."""
PROGRAM = ROOT / "examples" / "whole_run" / "train.py"
PAGE = ROOT / "docs" / "how-to" / "case_studies.md"
FIGURE = ROOT / "docs" / "images" / "case_study_input.svg"
GATES = {"gate": "asked", "value": "value", "limit": "limit", "met": "met"}
FAULTS_SHOWN = {
    "named_first": "named first",
    "n": "of",
    "step_s": "step, s",
    "mended_s": "after the change, s",
    "saved_s": "saving predicted, s",
    "measured_s": "measured, s",
}
SETTINGS = {
    "series": "input",
    "n_cores": "cores",
    "n_workers": "workers",
    "samples_per_s": "samples a second",
    "synthetic_samples_per_s": "with synthetic input",
    "loss": "lost",
    "lost_devices": "devices of 8",
    "predicted_samples_per_s": "predicted, samples a second",
    "predicted_lower": "from",
    "predicted_upper": "to",
    "predicted_lost_devices": "predicted, devices",
}
ROWS = {
    "series": "input",
    "repeat": "repeat",
    "recorded_cores": "recorded on cores",
    "recorded_workers": "with workers",
    "hint": "first hint",
    "n_cores": "cores",
    "n_workers": "workers",
    "step_s": "step predicted, s",
    "step_lower_s": "from",
    "step_upper_s": "to",
    "measured_s": "measured, s",
    "error": "error",
    "synthetic_s": "synthetic input, s",
    "lost_devices": "devices lost, predicted",
    "measured_lost_devices": "measured",
}


def runs_before(told: str, earlier: CaseJudgement) -> str:
    """Tables of earlier runs."""
    return f"""{told}
By the same limits, missed in these: {", ".join(missed_of(earlier)) or "nothing"}.

{table(earlier.gates, GATES)}

{table(earlier.rows[earlier.rows["is_new"]], ROWS)}
"""


def page(found: CaseJudgement, earlier: dict[str, CaseJudgement]) -> str:
    """The three cases, with what is kept of their runs, and the tables of the runs before."""
    before = "\n".join(runs_before(EARLIER[name], each) for name, each in earlier.items())
    faults = judge_faults(read_fault_protocol(FAULT_PROTOCOL), FAULTS).faults
    settings = found.settings.assign(loss=found.settings["lost_share"].map("{:.1%}".format))
    return f"""# Three cases

The SOFA paper finds three causes of slow training with its recordings: an update that the memory holds back, a ring of devices in
the wrong order, and input that is prepared too slowly. Each is here as a program that runs on a small machine, with what the advice
says of it and what the change then brings.

## A memory-bound update

The weights' update goes 64 times over the array and touches every 64th weight, so that each pass fetches all cache lines anew.

```console
$ mlperf record -o memory -- python examples/whole_run/train.py --fault memory
$ mlperf record advise memory
```

The mark around the update carries the bytes that it has to move at least; the hint compares the bytes a second with a copy of large
arrays, measured on the same machine, and says what one pass over contiguous arrays saves. Of the runs with
[planted faults](../reference/planted_faults.md):

{table(faults[faults["run"] == "memory"], FAULTS_SHOWN)}

## A ring in the wrong order

Eight devices are linked as in the paper's figure 8; in the order 0 to 7 the ring goes through the host's memory twice.
[The example](../../examples/whole_run/README.md#a-wrong-ring) has the commands.

{table(faults[faults["run"] == "ring-order"], FAULTS_SHOWN)}

## Input that cannot keep up

The paper trains on eight GPUs with real and with synthetic pictures and finds 17 % less throughput with the real ones, as if one to
two devices were missing; its figure 11 shows the throughput on more and more cores, the functions that decode take most of the
processor time, and a build with vector instructions brings the loss down to 6 %. The same here: the recording says so, and what
other numbers of cores or workers bring is known before anybody tries them.

```console
$ mlperf record -o real -- python examples/whole_run/train.py --fault slow-loader --batch 64 --hidden 32 --device-ms 20
$ mlperf record -o synthetic -- python examples/whole_run/train.py --input synthetic --batch 64 --hidden 32 --device-ms 20
$ mlperf record advise real
$ mlperf record workers real --synthetic synthetic --batch 64 --devices 8
```

![Throughput with real and synthetic input over cores and workers, measured and predicted](../images/{FIGURE.name})

A worker's batch takes as long as the interpreter's stacks show it at work, and the samples say how much of it is computing; batches
come no faster than the workers or the cores make them. Recorded were the runs with the fewest and with the most cores or workers,
each of which predicts all others; predictions are medians over both and the repeats.

{table(settings, SETTINGS)}

Protocol and limits (`tests/acceptance/case_studies.toml`) had been committed before these runs, which
`python docs/make_case_studies.py --run` made on two cores. Missed: {", ".join(missed_of(found)) or "nothing"}.

{table(found.gates, GATES)}

### Every prediction of a setting that was not recorded

{table(found.rows[found.rows["is_new"]], ROWS)}

### The runs before

{before}"""


def figure(protocol: CaseProtocol, found: CaseJudgement) -> Figure:
    """Throughput over cores, and over workers."""
    panels: dict[str, list[str]] = {}
    for name, series in protocol.series.items():
        panels.setdefault(series.vary, []).append(name)
    with style():
        drawn = new_figure(4.2 * len(panels), 3.4)
        for axes, (vary, names) in zip(drawn.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
            column = "n_cores" if vary == CORES else "n_workers"
            for number, name in enumerate(names):
                _draw(axes, found.settings[found.settings["series"] == name], column, name, PALETTE[number])
            axes.errorbar([], [], yerr=[], color=GREY, marker="D", linestyle="", capsize=3, label="predicted, 95 % interval")
            at = found.settings[found.settings["series"].isin(names)].drop_duplicates(column).sort_values(column)
            axes.plot(at[column], at["synthetic_samples_per_s"], color=GREY, linestyle="--", label="synthetic input")
            axes.set(xlabel=vary if vary == CORES else "loader workers", ylabel="samples a second", title=f"over {vary}")
            axes.set_xticks(sorted(at[column].unique()))
            axes.set_ylim(bottom=0)
            axes.legend()
    return drawn


def _draw(axes: Axes, rows: pd.DataFrame, column: str, name: str, color: str) -> None:
    """One kind of input: measured as a line, predicted with its interval beside."""
    axes.plot(rows[column], rows["samples_per_s"], color=color, marker="o", label=name)
    value = rows["predicted_samples_per_s"]
    ends = [value - rows["predicted_lower"], rows["predicted_upper"] - value]
    axes.errorbar(rows[column] + 0.04, value, yerr=ends, color=color, marker="D", linestyle="", capsize=3, alpha=0.6)


def main() -> None:
    """Run the protocol where asked to, then write figure and page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run the campaign")
    options = parser.parse_args()
    protocol = read_case_protocol(PROTOCOL)
    if options.run:
        run_case_studies(protocol, PROGRAM, KEPT, lambda text: print(text, flush=True))
    found = judge_case_studies(protocol, KEPT)
    save_figure(figure(protocol, found), FIGURE)
    earlier = {name: judge_case_studies(protocol, KEPT / name) for name in EARLIER}
    PAGE.write_text(page(found, earlier), encoding="utf-8")


if __name__ == "__main__":
    main()
