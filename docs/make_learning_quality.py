"""Make the runs behind reference/learning_quality.md, bundle them, write the page: ``make_learning_quality.py run FOLDER``."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.cli.main import main as mlperf
from mlperf.collect.trainer.learning.learn import Learning, LearningSetting, learn_without_clock
from mlperf.collect.trainer.learning.schedule import Pacing
from mlperf.core.files import write_text_whole
from mlperf.datasets import bundled_names, load_campaign, read_campaign
from mlperf.datasets.campaigns.bundled import HOME
from mlperf.datasets.campaigns.trainer_runs import trainer_table
from mlperf.datasets.campaigns.write import write_table
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.dictionary.trainer_schema import TRAINER_TABLES
from mlperf.training.quality import QualityModel, fit_quality
from mlperf.training.quality.epochs import quality_rows
from mlperf.training.quality.judgement import LIMIT, log_errors

DOCS = Path(__file__).parent
SIMULATED, DELAYED, BUSY = "asgd-quality", "asgd-delayed", "asgd-digits"
TARGET = 0.9
DATA_SETS = ("digits", "gratings")

SEED, N_SETTINGS, VARIATION = 20, 16, 0.2
NODES, WORKERS, SUBBATCHES = (1, 2, 4), (1, 2, 4), (1, 2, 4, 8, 16)
ITERATIONS, DELAYS = (0.1, 0.3, 1.0, 3.0, 9.0, 20.0), (0, 2, 5, 10)
LEAST_GRADIENTS, MOST_GRADIENTS = 0.05, 100.0
LARGEST_STEP = 250.0
"""Gradients in an update times their age: beyond, hardly a run learns."""

REAL = (
    ("--subbatch", "2", "--epochs", "12", "--delay", "3", "--lockstep"),
    ("--subbatch", "2", "--epochs", "12", "--delay", "8", "--lockstep"),
    ("--subbatch", "4", "--epochs", "18", "--delay", "3", "--lockstep"),
    ("--subbatch", "4", "--epochs", "18", "--delay", "8", "--lockstep"),
    ("--subbatch", "8", "--epochs", "30", "--delay", "3", "--lockstep"),
    ("--subbatch", "8", "--epochs", "30", "--delay", "8", "--lockstep"),
    ("--subbatch", "4", "--epochs", "18", "--delay", "5"),
)
"""Runs of the real trainer on one and two nodes; in lockstep mini-batch and staleness are what is asked for."""

READMES = {
    SIMULATED: f"""\
# Learning without a clock: epochs to {100 * TARGET:g} % on two data sets, apart from any machine

Asynchronous SGD with real gradients in a drawn order: which weights a gradient reads and which update uses it are drawn, not
timed, so that mini-batch, staleness, sub-batch and nodes vary apart and every run repeats to the bit. No times. Digits are
scikit-learn's, gratings are made by `mlperf.collect.trainer.samples.grating_samples`. A run ends at the first epoch that ends
at {100 * TARGET:g} % test accuracy, or after {Learning().epochs} epochs: then it is censored.

**Licence** BSD-3-Clause, as the package; the digits are those of the UCI repository as scikit-learn ships them, and are not
included.

**Known of the data** settings are drawn by seed {SEED} from those whose updates are neither nearly all empty nor hopeless.
Nothing was removed.

**Commands**

    python docs/make_learning_quality.py run FOLDER
    python docs/make_learning_quality.py bundle FOLDER
""",
    DELAYED: """\
# The real trainer on weights older than the latest: one and two nodes, digits

Runs of `mlperf collect asgd --delay`, everything real, to judge a model of epochs that was fitted on runs without a clock. In
lockstep staleness is the delay and the mini-batch is nodes x workers x sub-batch. **Times are not to be used.**

**Licence** BSD-3-Clause, as the package; the digits are those of the UCI repository as scikit-learn ships them, and are not
included.

**Known of the data** workers share two cores. Nothing was removed.

**Commands**

    python docs/make_learning_quality.py run FOLDER
    python docs/make_learning_quality.py bundle FOLDER
""",
}


def main() -> None:
    """Print what would be run, run it, bundle it, or write the page from what is bundled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("plan", "run", "bundle", "page"))
    parser.add_argument("folder", nargs="?", type=Path, default=Path("learning_quality"))
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.what == "plan":
        print(*(f"{each}" for name in DATA_SETS for each in settings(name)), sep="\n")
        print(*(shlex.join(line) for line in commands(given.folder)), sep="\n")
    elif given.what == "run":
        make_runs(given.folder, given.jobs)
    else:
        if given.what == "bundle":
            bundle(given.folder)
        write_text_whole(DOCS / "reference" / "learning_quality.md", page())


def settings(data: str) -> list[LearningSetting]:
    """As many settings for every number of nodes, drawn from all that are not hopeless; the same for each data set."""
    rng = np.random.default_rng(SEED)
    found = []
    for nodes in NODES:
        grid = [
            LearningSetting(data, nodes, workers, subbatch, Pacing(iteration, VARIATION, delay))
            for workers, subbatch, iteration, delay in product(WORKERS, SUBBATCHES, ITERATIONS, DELAYS)
        ]
        usable = [each for each in grid if is_usable(each)]
        found += [usable[place] for place in rng.choice(len(usable), N_SETTINGS, replace=False)]
    return found


def is_usable(setting: LearningSetting) -> bool:
    """Whether its updates are neither hopeless nor nearly all empty."""
    n_gradients = setting.mean_minibatch_size / setting.subbatch_size
    return LEAST_GRADIENTS <= n_gradients <= MOST_GRADIENTS and n_gradients * setting.pacing.staleness <= LARGEST_STEP


def commands(folder: Path) -> Iterator[list[str]]:
    """Runs of the real trainer."""
    for options in REAL:
        yield ["collect", "asgd", "--", "-o", str(folder / DELAYED), "--nodes", "1,2", "--repeats", "1", *options]


def make_runs(folder: Path, n_jobs: int) -> None:
    """Make what the folder does not hold yet: first what no machine decides, then the real trainer's runs."""
    learn_without_clock(folder / SIMULATED, [each for name in DATA_SETS for each in settings(name)], Learning(), n_jobs)
    for line in commands(folder):
        print(shlex.join(line), file=sys.stderr)
        try:
            mlperf([*line, "--quiet"])
        except SystemExit as ended:
            if ended.code:
                raise


def bundle(folder: Path) -> None:
    """Put the campaigns of ``folder`` into the package, tables packed."""
    for name, readme in READMES.items():
        if not (folder / name).is_dir():
            print(f"{folder / name} is not there: not bundled", file=sys.stderr)
            continue
        campaign, home = read_campaign(folder / name), HOME / name
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(folder / name / "cnns", home / "cnns")
        if campaign.host:
            shutil.copy(folder / name / "host.json", home)
        packed = {table: frame for table, frame in campaign.tables.items() if TABLES[table].folder}
        plain = {table: frame for table, frame in campaign.tables.items() if table not in packed}
        for table in ("epochs", *(("histograms",) if plain else ())):
            packed[table] = trainer_table(campaign, table)
        for table, frame in (plain | packed).items():
            schema = TABLES.get(table) or TRAINER_TABLES[table]
            write_table(frame, home / f"{schema.stem}.csv{'.gz' if table in packed else ''}", schema)
        write_text_whole(home / "README.md", readme)


def page() -> str:
    """The whole page, from bundled campaigns."""
    names = sorted(load_campaign(SIMULATED).table("learning")["data"].unique())
    models = {name: fit_quality([SIMULATED], TARGET, data=name) for name in names}
    parts = [
        INTRODUCTION,
        nodes_text(models),
        terms_text(models),
        real_text(models["digits"]),
        data_text(models),
        runs_text(models),
    ]
    print(
        "[left_out_nodes]",
        *(f"{name} = {model.judgement.factor:.3f}" for name, model in models.items() if model.judgement),
        sep="\n",
    )
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


INTRODUCTION = f"""\
# Epochs to an accuracy

Made by `python docs/make_learning_quality.py page` from bundled runs. `mlperf train asgd-quality --target-accuracy {TARGET:g}
--data-set digits` fits log(epochs until the test accuracy first reaches {100 * TARGET:g} %) on mean mini-batch, mean staleness
and sub-batch, by maximum likelihood with normal errors; runs that did not reach the target enter as censored. Terms are chosen
by AIC of that likelihood.

**Where the runs come from.** On a real machine staleness follows the number of nodes. Here gradients are real but their order
is drawn (`simulated without clock`): iterations last 0.1 to 20 updates, workers read weights up to 10 updates older than the
latest, on 1, 2 and 4 nodes, so that the four vary apart and no machine decides anything. Real runs are what the model is then
asked about.

**One model for each data set.** A target accuracy means something on one data set only, and what a small step costs differs: a
common model with a factor for each would say that nothing else does. The same settings were run on both, so that this can be
seen below.

**Experimental.** While the error factor on a left-out number of nodes is above {LIMIT:g}, or was not measured, `mlperf train` and
`mlperf search --objective time_to_target` say so with the factor, as text and as JSON, and print no p-value.
"""


def markdown(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, ["---"] * len(heads), *rows])


def nodes_text(models: dict[str, QualityModel]) -> str:
    """Left-out node counts."""
    rows = []
    for name, model in models.items():
        for row in model.judgement.by_nodes.itertuples() if model.judgement else ():
            outside = f"{100 * row.outside_share:.0f}"
            rows.append(
                [name, str(row.n_nodes), str(row.n_runs), str(row.n_censored), f"{row.factor:.2f}", f"{row.largest:.2f}", outside]
            )
    heads = ["data set", "nodes left out", "runs", "censored", "error factor", "largest", "outside the domain, %"]
    told = [
        f"- {name}: {model.experimental or f'every number of nodes within a factor of {LIMIT:g}'}" for name, model in models.items()
    ]
    return f"""## Numbers of nodes left out

Error factor: exp of the mean absolute logarithm of predicted over measured epochs; a censored run counts with what its bound
proves.

{markdown(rows, heads)}

{chr(10).join(told)}"""


def terms_text(models: dict[str, QualityModel]) -> str:
    """Coefficients; tests where they mean something."""
    rows = []
    for name, model in models.items():
        for row in model.estimator.report_.coefficients.rename_axis("term").reset_index().itertuples():
            p_value = "-" if model.experimental else f"{row.p_value:.1e}"
            rows.append([name, f"`{row.term}`", f"{row.coef:.3f}", f"{row.std_err:.3f}", p_value])
    errors = [
        f"{name}: mean {100 * model.errors.errors.mape:.0f} %, largest {100 * model.errors.errors.max:.0f} %"
        for name, model in models.items()
        if model.errors is not None
    ]
    return f"""## Terms

{markdown(rows, ["data set", "term", "coefficient", "standard error", "p"])}

Left-out settings that reached the target, selection repeated: {"; ".join(errors)}."""


def real_text(model: QualityModel) -> str:
    """Real runs of the trainer, none of which was fitted."""
    rows = [row for name in (BUSY, DELAYED) if name in bundled_names() for row in real_rows(name, model)]
    heads = ["campaign", "nodes", "runs", "censored", "error factor", "largest", "measured over predicted", "outside the domain, %"]
    return f"""## The real trainer

Digits; runs of ranks, threads and locks, asked of the model that was fitted without a clock. `{BUSY}` ran on a busy machine:
there a worker stands still now and then, and some gradients are far older than the mean says. `{DELAYED}` are runs with
`--delay`.

{markdown(rows, heads)}"""


def real_rows(name: str, model: QualityModel) -> Iterator[list[str]]:
    """One row a node count of a campaign."""
    rows = quality_rows([load_campaign(name)], TARGET, "digits")
    found = asked(model, rows)
    for nodes, part in rows.assign(**found).groupby("n_nodes"):
        signed = part.loc[~part["censored"], "signed"].mean()
        yield [
            f"`{name}`", str(nodes), str(len(part)), str(int(part["censored"].sum())), f"{np.exp(part['error'].mean()):.2f}",
            f"{np.exp(part['error'].max()):.2f}", f"{np.exp(signed):.2f}", f"{100 * (1.0 - part['inside'].mean()):.0f}",
        ]  # fmt: skip


def asked(model: QualityModel, rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """What a model says of runs: ``error`` and ``signed`` (logarithms), ``censored``, ``inside``."""
    found = model.predict(*(rows[name].to_numpy(float) for name in ("mean_minibatch_size", "staleness", "subbatch_size")))
    censored = rows["epochs_to_target"].isna().to_numpy()
    logs, said = np.log(rows["epochs_to_target"].fillna(rows["n_epochs"]).to_numpy(float)), np.log(found.epochs)
    return {"error": log_errors(said, logs, censored), "signed": logs - said, "censored": censored, "inside": found.in_domain}


def data_text(models: dict[str, QualityModel]) -> str:
    """One data set's model asked about the other, as it is and after one factor."""
    rows = []
    for name, model in models.items():
        for other in (each for each in models if each != name):
            runs = quality_rows([load_campaign(SIMULATED)], TARGET, other)
            found = asked(model, runs)
            reached = ~found["censored"]
            factor = np.exp(np.median(found["signed"][reached]))
            left = np.exp(np.abs(found["signed"][reached] - np.log(factor)).mean())
            rows.append([name, other, f"{np.exp(found['error'].mean()):.2f}", f"{factor:.2f}", f"{left:.2f}"])
    if not rows:
        return ""
    return f"""## Data sets left out

A model asked about the other data set: its error factor, the one factor that would help most, and what is left after it.

{markdown(rows, ["fitted on", "asked about", "error factor", "median measured over predicted", "error factor after it"])}"""


def runs_text(models: dict[str, QualityModel]) -> str:
    """Every run."""
    rows = []
    for name, model in models.items():
        for row in model.rows.sort_values(["n_nodes", "predicted_epochs"]).itertuples():
            reached = f"more than {row.n_epochs:.0f}" if pd.isna(row.epochs_to_target) else f"{row.epochs_to_target:.1f}"
            setting = f"{row.n_nodes} x {row.n_gpus_per_node}, {row.subbatch_size}"
            sizes = [f"{row.mean_minibatch_size:.2f}", f"{row.staleness:.1f}"]
            rows.append([name, setting, *sizes, reached, f"{row.predicted_epochs:.1f}"])
    heads = ["data set", "nodes x workers, sub-batch", "mean mini-batch", "staleness", "epochs to target", "fitted"]
    return f"""## Every run

{markdown(rows, heads)}"""


if __name__ == "__main__":
    main()
