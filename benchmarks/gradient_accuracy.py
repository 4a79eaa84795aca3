"""Left-out-CNN accuracy of gradient time on a campaign, as the tables of docs/reference/gradient_time.md.

Run: ``python benchmarks/gradient_accuracy.py CAMPAIGN [--jobs N] [--columns] [--one]``; minutes of one core on a bundled campaign.
"""

from __future__ import annotations

import argparse

import pandas as pd

from mlperf.datasets import read_campaign
from mlperf.models.validation.scores import relative_errors
from mlperf.report.text.numbers import percent_text
from mlperf.training.gradient.gradient import methods_with
from mlperf.training.gradient.gradient_accuracy import accuracy_table, leave_one_cnn_out, train_on_one_cnn
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics, terms_of
from mlperf.training.gradient.gradient_data import gradient_data
from mlperf.training.training import fit_sgemm

METHODS = {
    "paper": "a x + b for memory kernels, isolated SGEMM from its eight grid neighbours (Oyama et al.)",
    "ols": "plain OLS, terms by AIC",
    "linear": "weights 1/t², terms by AIC, SGEMM calibrated in place",
    "learnt": "non-negative, boosted residual",
}
FIGURES = ("mape", "median", "q3", "max", "bias")


def markdown(rows: pd.DataFrame) -> str:
    """The rows as a Markdown table, fractions in percent."""
    head = "| method | " + " | ".join(FIGURES) + " |\n|" + "---|" * (1 + len(FIGURES))
    lines = [
        f"| {METHODS[row['method']]} | " + " | ".join(percent_text(row[name]) for name in FIGURES) + " |"
        for _, row in rows.iterrows()
    ]
    return "\n".join([head, *lines])


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaign", nargs="?", default="cpu-epyc")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--columns", action="store_true", help="what step_bytes and the static characteristics are worth")
    parser.add_argument("--one", action="store_true", help="the paper's protocol: trained on one CNN")
    given = parser.parse_args()
    campaign = read_campaign(given.campaign)
    own = GradientCharacteristics.of(campaign, gradient_data(campaign, fit_sgemm(campaign)), None)
    n_cnns, n_steps = own.data.steps["cnn"].nunique(), len(own.data.steps)
    print(f"{n_cnns} CNNs, {n_steps} configurations, noise floor {percent_text(own.data.noise_floor)}\n")
    print(f"One CNN left out, everything fitted on the others; characteristics: {', '.join(own.sets) or 'none'}\n")
    print(markdown(accuracy_table(leave_one_cnn_out(own.data, table=own.table, jobs=given.jobs).steps, own.data)))
    if given.columns:
        print_columns(own, given.jobs)
    if given.one:
        print_one(own, given.jobs)


def print_columns(own: GradientCharacteristics, jobs: int) -> None:
    """Errors without the static characteristics, and without the bytes of the whole step."""
    memory, products = terms_of(own.sets, own.data.calls)
    tables = {
        "without static characteristics": methods_with(),
        "without step_bytes": methods_with(memory, products, without="step_bytes"),
        "without both": methods_with(without="step_bytes"),
    }
    for name, table in tables.items():
        left_out = leave_one_cnn_out(own.data, methods=("linear", "learnt"), table=table, jobs=jobs)
        print(f"\n{name}:\n\n{markdown(accuracy_table(left_out.steps, own.data, ('linear', 'learnt')))}")


def print_one(own: GradientCharacteristics, jobs: int) -> None:
    """Trained on each CNN alone."""
    single = train_on_one_cnn(own.data, table=own.table, jobs=jobs)
    rows = []
    for method in ("paper", "ols", "linear"):
        known = single.dropna(subset=[f"{method}_s"])
        each = known.groupby("trained_on")[["measured_s", f"{method}_s"]].apply(
            lambda part, column=f"{method}_s": relative_errors(part[column], part["measured_s"]).mape
        )
        summary = relative_errors(known[f"{method}_s"], known["measured_s"])
        rows.append({"method": method, **{figure: getattr(summary, figure) for figure in FIGURES}, "typical": float(each.median())})
    print("\nTrained on one CNN, tested on the others that run no other kernel (the paper's protocol), all pairs pooled:\n")
    print(markdown(pd.DataFrame(rows)))
    print(
        "\nMedian over the training CNN of the mean error: "
        + ", ".join(f"{row['method']} {percent_text(row['typical'])}" for row in rows)
    )


if __name__ == "__main__":
    main()
