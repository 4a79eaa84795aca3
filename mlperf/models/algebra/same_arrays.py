"""Answers about the same arrays are given again: rows left out one after the other, by several methods, leave much as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np

from mlperf.core.arrays import FloatArray

Answer = TypeVar("Answer")


class SameArrays(Generic[Answer]):
    """The last ``most`` answers, by the bytes of the arrays that they are about.

    An answer must follow from the arrays and the label alone, and nobody may change it.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._known: dict[Hashable, Answer] = {}

    def __call__(self, arrays: tuple[FloatArray, ...], make: Callable[[], Answer], label: Hashable = None) -> Answer:
        """What ``make()`` returned for equal arrays and an equal label, or returns now."""
        key = (label, *(each.shape for each in arrays), _digest(arrays))
        if key in self._known:
            return self._known[key]
        made = make()
        while len(self._known) >= self.most:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = made
        return made

    def forget(self) -> None:
        """Ask again for everything."""
        self._known.clear()


def _digest(arrays: tuple[FloatArray, ...]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for each in arrays:
        digest.update(np.ascontiguousarray(each).data)
    return digest.digest()
