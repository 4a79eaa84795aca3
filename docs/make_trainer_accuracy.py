"""Write reference/trainer_accuracy.md and its figure from campaigns of the asynchronous trainer (bundled ones: `BUNDLED`)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.files import write_text_whole
from mlperf.datasets import read_campaign
from mlperf.report.figures.figures import save_figure
from mlperf.report.pages.trainer_accuracy import distribution_figure
from mlperf.studies.trainer import TrainerAccuracy, judge_trainer, read_trainer_limits
from mlperf.studies.trainer.forms import PREDICTING
from mlperf.studies.trainer.gradient_transfer import balance_errors
from mlperf.studies.trainer.headline import PAPER
from mlperf.studies.trainer.ranking import TOGETHER, Ranking
from mlperf.training.quality import QualityModel, fit_quality

DOCS = Path(__file__).parent
LIMITS = DOCS.parent / "tests" / "acceptance" / "trainer.toml"
FIGURE = Path("images") / "trainer_distributions.svg"
BUNDLED = ("asgd-emulated", "asgd-networks", "asgd-slow-network", "asgd-memory")
TARGET_ACCURACY = 0.9
BALANCES = (4, 5, 6, 7, 8, 9, 10, 12)
SUBBATCHES = (4, 8)
TABLE_9 = "Oyama et al., Table 9"

NAMES: Mapping[str, str] = {
    "gpu_iteration_s": "T_GPU",
    "update_iteration_s": "T_Update",
    "epoch_s": "T_Epoch",
    "mean_minibatch_size": "mean mini-batch",
}
FORMS = ("paper", "second_moment", "convolution", "phases", "recursion", "simulation")
RECIPES = ("paper", "aic", "laws")
STRETCH_KEYS = ("machine", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size", "cores_per_worker")


def main() -> None:
    """Judge, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaigns", nargs="*", default=BUNDLED)
    parser.add_argument("--trained-on", default="cnn29")
    parser.add_argument("--rounds-from", default="cpu-epyc")
    parser.add_argument("--quality", default="asgd-digits")
    given = parser.parse_args()
    found = judge_trainer(
        given.campaigns, trained_on=given.trained_on, rounds_from=given.rounds_from, limits=read_trainer_limits(LIMITS)
    )
    save_figure(distribution_figure(found), DOCS / FIGURE)
    quality = fit_quality([given.quality], TARGET_ACCURACY)
    write_text_whole(DOCS / "reference" / "trainer_accuracy.md", page(found, quality, given.rounds_from))


def page(found: TrainerAccuracy, quality: QualityModel, rounds_from: str) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        gates_text(found),
        split_text(found),
        waits_text(found),
        headline_text(found, rounds_from),
        ranking_text(found),
        components_text(found),
        distributions_text(found),
        modes_text(found),
        quality_text(quality),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


INTRODUCTION = """\
# The equations of SPRINT against a real asynchronous trainer

Made by `python docs/make_trainer_accuracy.py` from bundled runs of [the asynchronous trainer](../how-to/asynchronous_trainer.md);
the same tables come from `mlperf accuracy --trainer CAMPAIGN --limits tests/acceptance/trainer.toml`. Errors are relative to the
mean over repeats.

**Emulated.** Ranks, threads, mutexes, the barrier and the order of events are real. Device, memory and network are slept: each wait
is one of the measured rounds of that network's steps and of the vector operations, never a fitted model's answer. So these tables
judge the equations and the way costs are carried over, not hardware. Runs with real work stand in a section of their own.
"""


def markdown(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(value: float, digits: int = 2) -> str:
    """A fraction as a percentage without its sign."""
    return "-" if pd.isna(value) else f"{100 * value:.{digits}f}"


def pair(row: Mapping[str, Any] | pd.Series) -> str:
    """Mean and largest error."""
    return f"{percent(row['mean_error'])} / {percent(row['max_error'], 1)}"


def setting(row: Any) -> str:
    """A configuration: nodes x GPUs, sub-batch."""
    return f"{row.n_nodes} x {row.n_gpus_per_node}, {row.subbatch_size}"


def gates_text(found: TrainerAccuracy) -> str:
    """What was asked."""
    rows = []
    for row in found.gates.itertuples():
        is_wait = "against the paper's form" in row.gate
        shown = [f"{1e3 * each:.3f} ms" if is_wait else f"{each:.4f}" for each in (row.value, row.limit)]
        rows.append([row.gate, *shown, "yes" if row.met else "**no**"])
    heads = ["machine", "network", "settings", "runs", "qualifying", "median overshoot, % of the shortest wait"]
    measured = [
        [row.machine, row.cnn, str(row.n_settings), str(row.n_runs), str(row.n_qualifying), percent(row.overshoot_share)]
        for row in found.modes.itertuples()
    ]
    return f"""## What was asked, and what was reached

{markdown(rows, ["gate", "value", "limit", "met"])}

A setting qualifies when its waits are typically (median) inexact by less than 5 % of its shortest wait. What was run:

{markdown(measured, heads)}"""


def split_text(found: TrainerAccuracy) -> str:
    """Fitted on few nodes."""
    if found.split_summary.empty:
        return ""
    table = found.split_summary.set_index(["costs", "form", "quantity"])
    forms = [form for form in FORMS if form in found.split_summary["form"].to_numpy()]
    rows = []
    for costs, text in (("fitted", "1 and 2 nodes to 4"), ("known", "known costs, all settings")):
        for quantity, name in NAMES.items():
            own = [table.loc[(costs, form, quantity)] for form in forms]
            cells = [pair(each) for each in own]
            rows.append([text, name, str(int(own[0]["n"])), *cells, percent(own[0]["repeat_difference"])])
    each = found.split[(found.split["costs"] == "fitted") & (found.split["form"] == PREDICTING)]
    settings = [
        [
            setting(row),
            f"{1e3 * row.measured:.2f}",
            f"{1e3 * row.predicted:.2f}",
            percent(row.relative_error),
            percent(row.repeat_difference),
        ]
        for row in each[each["quantity"] == "update_iteration_s"].itertuples()
    ]
    return f"""## {found.trained_on}: fitted on 1 and 2 nodes, tested on 4

{markdown(rows, ["costs", "quantity", "settings", *forms, "between repeats"])}

Mean / largest error, %. Costs are fitted as `mlperf.studies.trainer.costs` says: vector operations by length (lines
between measured lengths, the marginal cost beyond, a power below), the exchange by its form 2 (M - 1)/M; the
barrier is computed. *Known*: each setting's own measured components put into the equations, so that only the equations can be
wrong. The paper's form has its alpha' fitted here; on known costs it is the cost of one sum.

T_Update of the tested settings (nodes x GPUs, sub-batch), form {PREDICTING}, ms and %:

{markdown(settings, ["setting", "measured", "predicted", "error", "between repeats"])}"""


def waits_text(found: TrainerAccuracy) -> str:
    """Locks and barrier."""
    table = found.wait_summary
    forms = [form for form in FORMS if form in table["form"].to_numpy()]
    rows = []
    for (wait, where), part in table.groupby(["wait", "where"], sort=False):
        by_form = part.set_index("form")
        cells = [f"{1e3 * by_form.loc[form, 'predicted_s']:.3f} ({1e3 * by_form.loc[form, 'error_s']:.3f})" for form in forms]
        rows.append([f"`{wait}`", where, str(int(part["n"].iloc[0])), f"{1e3 * part['measured_s'].iloc[0]:.3f}", *cells])
    return f"""## Waits, one by one

Measured and predicted mean over settings, ms, in brackets the mean absolute error; costs are known.

{markdown(rows, ["wait", "where", "settings", "measured", *forms])}

The paper's barrier knows only how many buffers each node adds, and is 0 where T_Update > T_GPU: every buffer is fresh there. What
nodes still wait for is the spread of their own work, which `convolution` and `phases` see."""


def headline_text(found: TrainerAccuracy, rounds_from: str) -> str:
    """Other networks."""
    if found.headline_summary.empty:
        return ""
    ours = found.headline_summary[found.headline_summary["inputs"] != TABLE_9]
    table = ours.set_index(["inputs", "form", "cnn", "quantity"])
    asked = ("epoch_s", "update_iteration_s", "mean_minibatch_size")
    rows = []
    for (inputs, form, cnn), _ in ours.groupby(["inputs", "form", "cnn"], sort=False):
        if cnn != "all" and form not in ("paper", PREDICTING):
            continue
        rows.append([str(inputs), str(form), str(cnn), *(pair(table.loc[(inputs, form, cnn, name)]) for name in asked)])
    paper = {(cnn, name): f"{percent(mean)} / {percent(largest, 1)}" for cnn, name, largest, mean in PAPER}
    rows += [[f"{TABLE_9}, real hardware", "paper", cnn, *(paper[cnn, name] for name in asked)] for cnn in ("CNN-B", "CNN-C")]
    networks = sorted({*found.headline["cnn"], found.trained_on})
    return f"""## The paper's headline: other networks from one

Costs come from the runs of {found.trained_on} alone. *components.csv*: nothing else is read, the variation of iterations is told
from the shares of fresh buffers and new weights that the table holds. *With spreads*: also the standard deviations beside it in
`asgd/details.csv`. Networks tested: {", ".join(name for name in networks if name != found.trained_on)}. Mean / largest error, %:

{markdown(rows, ["seen of the one network", "form", "network", "T_Epoch", "T_Update", "mean mini-batch"])}

{gradient_text(found, rounds_from, networks)}"""


def gradient_text(found: TrainerAccuracy, rounds_from: str, networks: Sequence[str]) -> str:
    """How gradient time is carried over, and how well that does elsewhere."""
    balance = balance_errors(read_campaign(rounds_from), networks, BALANCES, SUBBATCHES)
    scan = balance.itertuples()
    balances = [[f"{row.flop_per_byte:g}", percent(row.mean_error, 1), percent(row.median_error, 1)] for row in scan]
    transfer = found.transfer.set_index("cnn")
    tested = [
        [name, f"{transfer.loc[name, 'n_params'] / 1e6:.2f}", str(transfer.loc[name, "n_convolutions"]), pair(transfer.loc[name])]
        for name in networks
        if name in transfer.index
    ]
    others = transfer.drop(index=[found.trained_on])["mean_error"]
    own = float(transfer.loc[found.trained_on, "n_params"])
    near = transfer[(transfer["n_convolutions"] <= 3) & transfer["n_params"].between(0.4 * own, 1.6 * own)].drop(
        index=list(networks)
    )
    outside = ", ".join(
        f"{name} ({row['n_params'] / 1e6:.2f}e6) {percent(row['mean_error'], 1)} %" for name, row in near.iterrows()
    )
    return f"""One network has vectors of one length, but its shares on 1, 2 and 4 nodes show what a copy costs at others: the other
operations on vectors are given the same shape, since vectors leave the caches at the same lengths. Its gradient time gives one
speed: seconds per unit of work, where the work of a step is its operations plus its bytes times a balance, both from the
specification. The balance is a constant of the formula, 8 operations a byte; it was taken from those networks of `{rounds_from}`
that no run is made of (error of predicting each from each other one, %):

{markdown(balances, ["operations a byte", "mean error", "median error"])}

So between two arbitrary networks one coefficient errs by {percent(balance["mean_error"].min(), 0)} %. The networks tested here are
alike {found.trained_on} by a rule that looks at specifications only: those of the generated forty with at most three convolutions
and 0.5 to 1.5 times its parameters. The rule was written when the errors of the formula on the bundled steps were known, before any
of these networks was run: take the figures as those of like networks, not of any. Gradient time by the one coefficient from
{found.trained_on}, mean / largest error over
sub-batches 4 and 8, %; over all {len(others)} other networks of the campaign the mean is {percent(others.mean(), 1)} %, the median
{percent(others.median(), 1)} %:

{markdown(tested, ["network", "parameters, 1e6", "convolutions", "error"])}

Just outside that rule, at 0.4 to 1.6 times the parameters: {outside or "none"}."""


def ranking_text(found: TrainerAccuracy) -> str:
    """Order of configurations."""
    if not found.rankings:
        return ""
    rows = [
        [
            f"{each.cnn}, {each.machine}",
            each.form,
            str(len(each.table)),
            str(each.n_pairs),
            str(each.n_beyond_noise),
            str(each.n_tied),
            str(each.n_wrong),
            percent(each.regret),
        ]
        for each in found.rankings
    ]
    heads = ["ranked", "form", "in the window", "pairs", "apart beyond noise", "of these: tied", "wrong", "regret, %"]
    tables = [one_ranking(each) for each in found.rankings if each.form == PREDICTING]
    about = f"""## Order of configurations inside a window

Costs come from the components.csv of {found.trained_on} on that machine: of its runs on 1 and 2 nodes; more nodes are held out.
Noise is twice the mean difference between repeats. *Tied*: predicted in the wrong order, but by less than the noise.

{markdown(rows, heads)}"""
    return "\n\n".join([about, *tables])


def one_ranking(each: Ranking) -> str:
    """One network on one machine, or on all together."""
    named = each.machine == TOGETHER
    rows = [
        [
            *([row.machine] if named else []),
            setting(row),
            "yes" if row.fitted_on else "no",
            f"{row.predicted_s:.0f}",
            f"{row.measured_s:.0f}",
            f"{row.predicted_minibatch_size:.0f}",
            f"{row.measured_minibatch_size:.0f}",
            str(row.measured_rank),
        ]
        for row in each.table.itertuples()
    ]
    seconds, sizes = ("predicted, s", "measured, s"), ("predicted mini-batch", "measured")
    heads = ["nodes x GPUs, sub-batch", "fitted on", *seconds, *sizes, "measured rank"]
    return f"""**{each.cnn}, {each.machine}**: window {each.lower:.0f} to {each.upper:.0f}, noise {percent(each.noise)} %.

{markdown(rows, ["machine", *heads] if named else heads)}"""


def components_text(found: TrainerAccuracy) -> str:
    """The paper's regressors against AIC."""
    if found.components.empty:
        return ""
    table = found.components.set_index(["held_out", "quantity", "recipe"])
    order = [name for name in ("settings", "networks", "more nodes") if name in found.components["held_out"].to_numpy()]
    rows = []
    for quantity in dict.fromkeys(found.components["quantity"]):
        cells = [pair(table.loc[(held, quantity, recipe)]) for held in order for recipe in RECIPES]
        rows.append([NAMES.get(quantity, f"`{quantity}`"), *cells])
    heads = ["quantity", *(f"{held}: {recipe}" for held in order for recipe in ("paper", "AIC", "laws"))]
    return f"""## Components: the paper's regressors, terms chosen by AIC, laws

Held out: a random quarter of the settings of {found.trained_on}; each network in turn; 4 nodes, fitted on 1 and 2. Mean / largest
error, %; the last four rows are end to end (paper: the paper's form; else {PREDICTING}).

{markdown(rows, heads)}

Inside the measured range and on other networks terms chosen by AIC are the better ones: hinges at the ends of caches, and the
elements of an image in place of its number, show what one slope cannot. Beyond
it, from two sizes of a node's share to a third that is smaller, a line has a negative constant; a power has not. `laws` is what the
sections above use."""


def distributions_text(found: TrainerAccuracy) -> str:
    """Histograms."""
    rows = [
        [
            row.quantity.replace("_", " "),
            row.form,
            str(row.n),
            percent(row.mean_error),
            percent(row.std_error, 1),
            f"{row.total_variation:.3f}",
            f"{row.largest_difference:.3f}",
            f"{row.repeat_variation:.3f}",
        ]
        for row in found.distribution_summary.itertuples()
    ]
    heads = ["quantity", "form", "settings", "mean, %", "deviation, %", "total variation", "Kolmogorov-Smirnov", "between repeats"]
    return f"""## Mini-batch sizes and staleness

Observed histograms beside predicted distributions, known costs; means of settings. *Between repeats* is the total variation of the
histograms of two repeats: what the number of updates leaves open.

{markdown(rows, heads)}

![Observed histograms and predicted distributions](../{FIGURE.as_posix()})"""


def modes_text(found: TrainerAccuracy) -> str:
    """Real work."""
    if found.stretches.empty:
        return ""
    known = found.known[found.known["form"] == PREDICTING].to_dict("records")
    rows = [[row["machine"], NAMES[row["quantity"]], str(row["n"]), pair(row)] for row in known]
    names = [name for name in found.stretches.columns if name not in STRETCH_KEYS]
    stretched = [
        [row.machine, setting(row), f"{row.cores_per_worker:.2g}", *(f"{getattr(row, name):.2f}" for name in names)]
        for row in found.stretches.itertuples()
    ]
    return f"""## Real memory work, real gradients

Known costs put into the form {PREDICTING}, by mode; mean / largest error, %:

{markdown(rows, ["machine", "quantity", "settings", "error"])}

Workers that share cores stretch each other: time of each component beside the setting with most cores a worker. With a stretch like
this a run does not validate the equations; the measured components of such a run hold it already.

{markdown(stretched, ["machine", "setting", "cores a worker", *(f"`{name}`" for name in names)])}"""


def quality_text(quality: QualityModel) -> str:
    """Learning."""
    terms = quality.estimator.report_.coefficients.rename_axis("term").reset_index().to_dict("records")
    rows = [[f"`{row['term']}`", f"{row['coef']:.3f}", f"{row['std_err']:.3f}", f"{row['p_value']:.1e}"] for row in terms]
    columns = ["mean_minibatch_size", "staleness", "best_accuracy", "epochs_to_target", "predicted_epochs"]
    means = quality.rows.groupby(["n_nodes", "n_gpus_per_node", "subbatch_size"])[columns].mean().reset_index()
    settings = [
        [
            setting(row),
            f"{row.mean_minibatch_size:.2f}",
            f"{row.staleness:.2f}",
            f"{row.best_accuracy:.3f}",
            "not reached" if pd.isna(row.epochs_to_target) else f"{row.epochs_to_target:.1f}",
            f"{row.predicted_epochs:.1f}",
        ]
        for row in means.itertuples()
    ]
    heads = ["nodes x workers, sub-batch", "mean mini-batch", "staleness", "best accuracy", "epochs to target", "fitted"]
    target = f"{quality.target_accuracy:g}"
    return f"""## Learning quality

Digits, real gradients, {quality.n_settings} settings, {len(quality.rows)} runs; {quality.n_censored} ended before the target
accuracy of {target} and could not be fitted. log(epochs to the target) on functions of mean mini-batch and staleness, terms by AIC:

{markdown(rows, ["term", "coefficient", "standard error", "p"])}

{left_out_text(quality)}

Runs were made on a busy machine with workers that share two cores: that decides mini-batch and staleness, not what they do to
learning. On one node nothing slows the update thread: most of its updates are empty, the mean mini-batch is below a sub-batch.
Where one repeat reached the target and another did not, the epochs are those of the one that did.

{markdown(settings, heads)}

`mlperf train CAMPAIGN --target-accuracy {target} -o quality.json` fits it; `mlperf search` offers the time to the target as an
objective."""


def left_out_text(quality: QualityModel) -> str:
    """Errors of left-out settings in a sentence."""
    if quality.errors is None:
        return ""
    errors = quality.errors.errors
    middle, largest = percent(errors.median, 0), percent(errors.max, 0)
    return f"Left-out settings: mean error {percent(errors.mape, 0)} %, median {middle} %, largest {largest} %."


if __name__ == "__main__":
    main()
