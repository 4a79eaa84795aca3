"""An answer is made once for the same bytes, and forgotten in the order of asking."""

from __future__ import annotations

import numpy as np

from mlperf.models.algebra.same_arrays import SameArrays


def test_equal_arrays_are_asked_once_and_others_again() -> None:
    known, made = SameArrays[int](3), []

    def ask(*arrays: np.ndarray, label: str = "") -> int:
        return known(arrays, lambda: made.append(arrays) or len(made), label)

    grid = np.arange(6.0).reshape(2, 3)
    first = ask(grid)
    # Neither another array of the same bytes, nor one that lies otherwise in memory, is asked again.
    assert ask(grid.copy()) == ask(np.asfortranarray(grid)) == first
    # The same bytes in another shape, under another label, or split otherwise, are another question.
    assert [ask(grid.ravel()), ask(grid, label="signed"), ask(grid[0], grid[1])] == [first + 1, first + 2, first + 3]
    assert ask(grid) == first + 4


def test_one_different_bit_is_another_question() -> None:
    known = SameArrays[float](2)
    values = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert [known((values[[place]],), lambda place=place: float(values[place])) for place in (0, 1)] == values.tolist()
