"""Draw images/asynchronous_digits.svg from the epochs.csv of a campaign, kept beside it: ``python docs/make_loss_curve.py``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlperf.report.figures.figures import PALETTE, new_figure, save_figure, style

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Loss of the training gradients and accuracy on the test images by epoch, one line a repeat."""
    epochs = pd.read_csv(IMAGES / "asynchronous_digits.csv")
    with style():
        figure = new_figure(6.4, 4.8)
        loss, accuracy = figure.subplots(2, 1, sharex=True)
        for colour, (run, one) in zip(PALETTE, epochs.groupby("run"), strict=False):
            loss.plot(one["epoch"], one["loss"], color=colour, label=f"run {run}")
            accuracy.plot(one["epoch"], one["test_accuracy"], color=colour)
        loss.set(ylabel="mean loss", title="Digits, 2 nodes with 2 workers each, real gradients")
        accuracy.set(xlabel="epoch", ylabel="test accuracy", ylim=(0, 1))
        loss.legend()
    save_figure(figure, IMAGES / "asynchronous_digits.svg")


if __name__ == "__main__":
    main()
