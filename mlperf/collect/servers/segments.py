"""The segments of one worker: loops, buffers of every thread, what a mini-batch leaves in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlperf.collect.canonical.loops import Floats, Loops, Saved, error_terms
from mlperf.collect.servers.layout import Layout


@dataclass(slots=True, eq=False)
class Segment:
    """One layer's segment on one worker.

    Attributes
    ----------
    number : int
        Layer, from 0.
    copy, stripe : int
        Which one.
    n_copies, n_threads : int
        Of the layer's plan.
    weights : array
        Its parameters as a vector; the loops read them in place.
    loops : list of Loops
        One for each thread.
    gradients : list of array
        One for each thread, in the shape of the loops' weights.
    activations, saved, deltas : dict
        By sample of the mini-batch.
    """

    number: int
    copy: int
    stripe: int
    n_copies: int
    n_threads: int
    kind: str
    weights: Floats
    loops: list[Loops]
    gradients: list[Floats]
    activations: dict[int, Floats] = field(default_factory=dict)
    saved: dict[int, Saved] = field(default_factory=dict)

    def waves(self, minibatch_size: int) -> Iterator[list[int]]:
        """Samples of this copy, as many at once as there are threads."""
        own = range(self.copy, minibatch_size, self.n_copies)
        for first in range(0, len(own), self.n_threads):
            yield list(own[first : first + self.n_threads])

    def forward(self, thread: int, sample: int, x: Floats) -> None:
        """Activations of one sample."""
        self.activations[sample], self.saved[sample] = self.loops[thread].forward(x)

    def backward(self, thread: int, sample: int, received: Floats, *, is_first: bool) -> Floats | None:
        """Error terms and gradient of one sample; the part of the layer below's errors, None for the first layer."""
        activations = self.activations.pop(sample)
        delta = received if self.kind == "pool" else error_terms(received, activations)
        flat = delta.ravel()
        if self.weights.size:
            self.loops[thread].update(flat, self.saved[sample], self.gradients[thread])
        saved = self.saved.pop(sample)
        return None if is_first else self.loops[thread].backward(flat, saved)

    def gradient(self) -> Floats:
        """The sum over the threads as a vector; the buffers are empty afterwards."""
        total: Floats = self.gradients[0].ravel().copy()
        for each in self.gradients[1:]:
            total += each.ravel()
        for each in self.gradients:
            each[...] = 0.0
        return total


def warm(segments: Sequence[Segment | None]) -> None:
    """Run every thread's loops once on zeros, so that nothing is compiled, loaded or allocated for the first time later on."""
    for segment in segments:
        for loops, gradient in zip(segment.loops, segment.gradients, strict=True) if segment is not None else ():
            out, saved = loops.forward(np.zeros(loops.n_inputs, dtype=np.float32))
            delta = error_terms(np.zeros(out.size, dtype=np.float32), out.ravel())
            loops.backward(delta, saved)
            loops.update(delta, saved, gradient)


def segments_of(layout: Layout, worker: int, weights: Floats, code: str) -> list[Segment | None]:
    """A worker's segment of every layer, None where it hosts none.

    Parameters
    ----------
    layout : Layout
        The replica.
    worker : int
        From 0.
    weights : array, shape (n_params,)
        All parameters; the worker's are copied.
    code : str
        ``blas`` or ``scalar``.
    """
    found: list[Segment | None] = []
    for number, layer in enumerate(layout.net.layers):
        place = layout.place(number, worker)
        if place is None:
            found.append(None)
            continue
        plan = layout.plan[number]
        start, stop = layout.segment(number, worker)
        own: Floats = weights[start:stop].copy()
        rows = layout.rows(number, place[1])
        loops = [layer.loops(code, own, *rows) for _ in range(plan.n_threads)]
        gradients = [np.zeros_like(each.weights) for each in loops]
        found.append(Segment(number, *place, plan.n_copies, plan.n_threads, layer.kind, own, loops, gradients))
    return found
