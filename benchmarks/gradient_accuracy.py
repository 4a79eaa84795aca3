"""Left-out-CNN accuracy of gradient time on a campaign, as the tables of docs/reference/gradient_time.md.

Run: ``python benchmarks/gradient_accuracy.py [CAMPAIGN] [JOBS]``; about five minutes of one core on the bundled campaign.
"""

from __future__ import annotations

import sys

import pandas as pd

from mlperf.datasets import read_campaign
from mlperf.models.validation.scores import relative_errors
from mlperf.report.text.numbers import percent_text
from mlperf.training.gradient.gradient_accuracy import accuracy_table, leave_one_cnn_out, train_on_one_cnn
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics
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
    """Print both protocols."""
    name = sys.argv[1] if len(sys.argv) > 1 else "cpu-epyc"
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    campaign = read_campaign(name)
    characteristics = GradientCharacteristics.of(campaign, gradient_data(campaign, fit_sgemm(campaign)), None)
    data = characteristics.data
    print(f"{data.steps['cnn'].nunique()} CNNs, {len(data.steps)} configurations, noise floor {percent_text(data.noise_floor)}\n")
    left_out = leave_one_cnn_out(data, table=characteristics.table, jobs=jobs)
    print("One CNN left out, everything fitted on the others:\n")
    print(markdown(accuracy_table(left_out.steps, data)))
    single = train_on_one_cnn(data, table=characteristics.table, jobs=jobs)
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
