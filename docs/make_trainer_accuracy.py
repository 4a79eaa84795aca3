"""Write reference/trainer_accuracy.md and its figure from campaigns of the asynchronous trainer (bundled ones: `BUNDLED`)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.files import write_text_whole
from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED
from mlperf.report.figures.figures import save_figure
from mlperf.report.pages.trainer_accuracy import trainer_figure
from mlperf.studies.trainer import TrainerAccuracy, judge_trainer, read_trainer_limits
from mlperf.studies.trainer.equations import CLOSED, SIMULATION
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.scores import EVERY, JUDGED

DOCS = Path(__file__).parent
LIMITS = DOCS.parent / "tests" / "acceptance" / "trainer.toml"
FIGURE = Path("images") / "trainer_distributions.svg"
BUNDLED = ("asgd-emulated", "asgd-networks", "asgd-slow-network", "asgd-memory")
NAMES = {
    "gpu_iteration_s": "T_GPU",
    "update_iteration_s": "T_Update",
    "epoch_s": "T_Epoch",
    "mean_minibatch_size": "mean mini-batch",
    "lock_weights_gpu_s": "lock of the weights, GPU thread",
    "lock_gradient_gpu_s": "lock of a gradient, GPU thread",
    "lock_gradient_update_s": "lock of a gradient, update thread",
    "lock_weights_update_s": "lock of the weights, update thread",
    "barrier_wait_s": "wait at the barrier",
}


def main() -> None:
    """Judge, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaigns", nargs="*", default=BUNDLED)
    parser.add_argument("--rounds-from", default="cpu-epyc")
    given = parser.parse_args()
    found = judge_trainer(
        given.campaigns, rounds_from=given.rounds_from, forms=(*CLOSED, SIMULATION), limits=read_trainer_limits(LIMITS)
    )
    save_figure(trainer_figure(found), DOCS / FIGURE)
    write_text_whole(DOCS / "reference" / "trainer_accuracy.md", page(found))
    print("[missed]", *missed_lines(found), sep="\n")


def missed_lines(found: TrainerAccuracy) -> Iterator[str]:
    """The table ``missed`` of the file of limits as it is now."""
    for row in found.gates[~found.gates["met"]].itertuples():
        yield f'"{row.gate}" = {row.value:.4f}'


def page(found: TrainerAccuracy) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        gates_text(found),
        scores_text(found),
        intervals_text(found),
        networks_text(found),
        windows_text(found),
        equations_text(found),
        distributions_text(found),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


INTRODUCTION = """\
# Train and predict against a real asynchronous trainer

Made by `python docs/make_trainer_accuracy.py` from bundled runs of [the asynchronous trainer](../how-to/asynchronous_trainer.md);
the same tables come from `mlperf accuracy --trainer CAMPAIGN --rounds-from CAMPAIGN --limits tests/acceptance/trainer.toml`. Every
prediction is what `mlperf train` on some of the runs and `mlperf predict` say of the others: there is no second way to predict.
Errors are relative to the mean over repeats.

**Emulated.** Ranks, threads, mutexes, the barrier and the order of events are real. Device, memory and network are slept: each wait
is one of the measured rounds of that network's steps and of the vector operations, never a fitted model's answer. So these tables
judge equations, component models and training, not hardware. The emulated network exchanges by halving and doubling, which the
training is not told.

| protocol | trained on | asked about |
| --- | --- | --- |
| network left out | runs of all other networks | the network that was left out |
| network left out, kernels known | the same, and kernels of further networks measured alone, of none that was run | the same |
| more nodes | runs of one network on one and two nodes | the same network on four |
| one network | runs of one network, each in turn, none excluded | all other networks |
"""


def markdown(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(value: float, digits: int = 2) -> str:
    """A fraction as a percentage without its sign."""
    return "-" if pd.isna(value) else f"{100 * value:.{digits}f}"


def setting(row: Any) -> str:
    """A configuration: nodes x GPUs, sub-batch."""
    return f"{row.n_nodes} x {row.n_gpus_per_node}, {row.subbatch_size}"


def asked(row: Any) -> str:
    """Limits of a gate."""
    return f"{row.least:g} to {row.most:g}" if row.least else f"at most {row.most:.4g}"


def network_of(machine: str) -> str:
    """The emulated network of a machine, which is what tells two of them apart."""
    return machine.rpartition(", ")[2]


def gates_text(found: TrainerAccuracy) -> str:
    """What was asked, what was missed, what was run."""
    missed = found.gates[~found.gates["met"]]
    rows = [
        [row.gate.replace(f"{ALL_WAITED} x5, ", ""), f"{row.value:.4f}", asked(row), "yes" if row.met else "**no**"]
        for row in pd.concat([missed, found.gates[found.gates["met"]]]).itertuples()
    ]
    heads = ["machine", "network", "settings", "runs", "median overshoot, % of the shortest wait"]
    measured = [
        [row.machine, row.cnn, str(row.n_settings), str(row.n_runs), percent(row.overshoot_share)]
        for row in found.measured.itertuples()
    ]
    return f"""## What was asked, and what was missed

**{len(missed)} of {len(found.gates)} gates are missed**; they come first. Errors and coverages are fractions.

{markdown(rows, ["gate", "value", "asked", "met"])}

What was run:

{markdown(measured, heads)}"""


def scores_text(found: TrainerAccuracy) -> str:
    """Errors by protocol, beside trivial answers."""
    table = found.scores[found.scores["nodes"] == EVERY].set_index(["protocol", "machine", "method", "quantity"])
    rows = []
    for (protocol, machine, method), part in table.groupby(level=["protocol", "machine", "method"], sort=False):
        cells = [score_cell(part.droplevel([0, 1, 2]), quantity) for quantity in JUDGED]
        rows.append([str(protocol), network_of(str(machine)), f"**{method}**" if method == MODEL else str(method), *cells])
    return f"""## Errors, beside trivial answers

Mean / median over the trainings / largest of one setting, %; in a training networks weigh alike, and so do trainings.
*Paper's terms and form*: the same training with the regressors that Oyama et al. chose by hand, in their closed form.
*Gradient / (M n b)*: the predicted step alone, no equations. *Nearest setting*: what the most similar measured setting took.

{markdown(rows, ["protocol", "network, B/s", "answer", *(NAMES[quantity] for quantity in JUDGED)])}

With runs on one and two nodes nothing tells how an exchange grows with the nodes: every form that the training offers passes
through the one point that was measured. Then the forms are averaged and the interval holds all of them; the error of T_Update on
four nodes is what such an average costs."""


def score_cell(part: pd.DataFrame, quantity: str) -> str:
    """Errors of one quantity."""
    if quantity not in part.index:
        return "-"
    row = part.loc[quantity]
    return f"{percent(row['mean_error'])} / {percent(row['median_error'])} / {percent(row['max_error'], 1)}"


def intervals_text(found: TrainerAccuracy) -> str:
    """Coverage and width by number of nodes."""
    own = found.scores[(found.scores["method"] == MODEL) & (found.scores["nodes"] != EVERY)]
    table = own.set_index(["protocol", "machine", "nodes", "quantity"])
    rows = []
    for (protocol, machine, nodes), part in table.groupby(level=["protocol", "machine", "nodes"], sort=False):
        found_here = part.droplevel([0, 1, 2])
        cells = [interval_cell(found_here.loc[quantity]) for quantity in JUDGED]
        rows.append([str(protocol), network_of(str(machine)), str(nodes), *cells])
    return f"""## Intervals

Share of runs inside the 95 % interval / mean half-width / mean error, %. Asked are 90 to 99 % and a half-width of at most three
times the error.

{markdown(rows, ["protocol", "network, B/s", "nodes", *(NAMES[quantity] for quantity in JUDGED)])}"""


def interval_cell(row: pd.Series) -> str:
    """Coverage, width and error of one quantity."""
    return f"{percent(row['coverage'], 0)} / {percent(row['half_width'], 1)} / {percent(row['mean_error'], 1)}"


def networks_text(found: TrainerAccuracy) -> str:
    """Every training and network."""
    own = found.rows[(found.rows["method"] == MODEL) & found.rows["quantity"].isin(JUDGED)]
    own = own.assign(error=own["relative_error"].abs())
    rows = []
    for (protocol, machine, trained_on, cnn), part in own.groupby(["protocol", "machine", "trained_on", "cnn"], sort=False):
        errors = part.groupby("quantity")["error"].agg(["mean", "max", "size"])
        cells = [f"{percent(errors.loc[name, 'mean'])} / {percent(errors.loc[name, 'max'], 1)}" for name in JUDGED]
        rows.append([str(protocol), network_of(str(machine)), str(trained_on), str(cnn), str(errors["size"].iloc[0]), *cells])
    return f"""## Every network

Mean / largest error of its settings, %.

{markdown(rows, ["protocol", "network, B/s", "trained on", "network", "settings", *(NAMES[quantity] for quantity in JUDGED)])}"""


def windows_text(found: TrainerAccuracy) -> str:
    """Order and regret."""
    if found.windows.empty:
        return ""
    rows = []
    for (protocol, machine), part in found.windows.groupby(["protocol", "machine"], sort=False):
        counts = [str(int(part[name].sum())) for name in ("n_pairs", "n_reversed", "n_reversed_alone")]
        regrets = [f"{percent(part[name].mean())} / {percent(part[name].max(), 1)}" for name in ("regret", "regret_alone")]
        sizes = f"{part['n_configs'].mean():.1f}"
        rows.append([str(protocol), network_of(str(machine)), str(len(part)), sizes, *counts, *regrets])
    heads = [
        "protocol",
        "network, B/s",
        "windows",
        "configurations each",
        "pairs beyond noise",
        "reversed",
        "reversed, gradient alone",
    ]
    return f"""## Choices inside windows

Every configuration's predicted mini-batch in turn is the centre of a window of 25 % to either side. A pair counts as reversed when
its measured times differ by more than twice the mean difference between repeats and the predicted order is the other; a pair
predicted equal counts too. Regret: measured time of the predicted best over that of the measured best, less 1; mean / largest, %.
*Gradient alone*: gradient / (M n b).

{markdown(rows, [*heads, "regret", "regret, gradient alone"])}

{"".join(reversed_windows(found)) or "No pair is reversed."}"""


def reversed_windows(found: TrainerAccuracy) -> Iterator[str]:
    """Windows in which a pair is reversed, one a line."""
    for row in found.windows[found.windows["n_reversed"] > 0].itertuples():
        what = f"{row.n_reversed} of {row.n_pairs} pairs reversed, regret {percent(row.regret)} %"
        yield f"- {row.protocol}, {row.trained_on}: {row.cnn}, {row.lower:.0f} to {row.upper:.0f} samples: {what}\n"


def equations_text(found: TrainerAccuracy) -> str:
    """Forms of the equations."""
    forms = list(found.equations["form"].unique())
    table = found.equations.set_index(["machine", "quantity", "form"])
    rows = []
    for machine, quantity in dict.fromkeys(zip(found.equations["machine"], found.equations["quantity"], strict=True)):
        own = [table.loc[(machine, quantity, form)] for form in forms]
        cells = [f"{percent(each['mean_error'])} / {percent(each['max_error'], 1)}" for each in own]
        rows.append([str(machine), NAMES[quantity], str(int(own[0]["n"])), *cells])
    return f"""## The equations alone

Nothing is trained here: each setting's own measured component times and spreads are put into every form, so that only the equations
can be wrong. Mean / largest error, %; waits relative to the iteration that they are part of. Runs with real memory work stand
beside: their workers share cores, which stretches what is measured.

{markdown(rows, ["machine", "quantity", "settings", *forms])}

The paper's barrier knows only how many buffers each node adds, and is 0 where T_Update > T_GPU: every buffer is fresh there. What
nodes still wait for is the spread of their own work, which `convolution` and `phases` see."""


def distributions_text(found: TrainerAccuracy) -> str:
    """Histograms."""
    names = ["mean_error", "std_error", "total_variation", "largest_difference", "repeat_variation"]
    grouped = found.distributions.groupby("quantity", sort=False)
    rows = [
        [
            str(quantity).replace("_", " "),
            str(len(part)),
            percent(part[names[0]].mean()),
            percent(part[names[1]].mean(), 1),
            *(f"{part[name].mean():.3f}" for name in names[2:]),
        ]
        for quantity, part in grouped
    ]
    heads = ["quantity", "settings", "mean, %", "deviation, %", "total variation", "Kolmogorov-Smirnov", "between repeats"]
    return f"""## Mini-batch sizes and staleness

Observed histograms beside the distributions that `mlperf predict --distributions` gives for networks left out; means of settings.
*Between repeats* is the total variation of the histograms of two repeats: what the number of updates leaves open.

{markdown(rows, heads)}

![Observed histograms and predicted distributions](../{FIGURE.as_posix()})"""


if __name__ == "__main__":
    main()
