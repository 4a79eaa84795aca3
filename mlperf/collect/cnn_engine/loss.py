"""Softmax and cross-entropy: the end of the forward pass and the start of the backward pass in one kernel."""

from __future__ import annotations

import numpy as np

from mlperf.collect.cnn_engine.builder import Builder


def forward_loss(build: Builder) -> None:
    """Lay out softmax, the mean loss over the sub-batch, and the loss gradient by the last layer's output."""
    last = build.cnn.layers[-1].name
    logits = build.values[last].reshape(build.subbatch_size, -1)
    build.labels = build.rng.integers(0, logits.shape[1], build.subbatch_size)
    gradient = build.new_gradient(last).reshape(logits.shape)
    labels, loss, samples = build.labels, build.loss, np.arange(build.subbatch_size)

    def run() -> None:
        np.subtract(logits, logits.max(axis=1, keepdims=True), out=gradient)
        chosen = gradient[samples, labels]
        np.exp(gradient, out=gradient)
        total = gradient.sum(axis=1, keepdims=True)
        loss[0] = np.mean(np.log(total[:, 0]) - chosen)
        np.divide(gradient, total * build.subbatch_size, out=gradient)
        gradient[samples, labels] -= 1 / build.subbatch_size

    build.emit("softmax", last, run)
