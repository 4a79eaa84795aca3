"""Marginality: which terms may leave a model and which may enter it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

Key = frozenset[str]


def droppable(current: Sequence[Key], lower: Collection[Key]) -> list[int]:
    """Positions of terms that may leave: not in ``lower`` and contained in no other term that could leave.

    Parameters
    ----------
    current : sequence of frozenset
        The variables of each term of the model, in its order.
    lower : collection of frozenset
        Terms that must stay.
    """
    free = [position for position, key in enumerate(current) if key not in lower]
    if all(len(current[position]) == 1 for position in free):
        return free
    return [i for i in free if not any(current[i] < current[j] for j in free)]


def addable(current: Collection[Key], upper: Sequence[Key]) -> list[int]:
    """Positions in ``upper`` of terms that may enter: no absent term of ``upper`` is contained in them."""
    present = set(current)
    absent = [position for position, key in enumerate(upper) if key not in present]
    if all(len(upper[position]) == 1 for position in absent):
        return absent
    return [i for i in absent if not any(upper[j] < upper[i] for j in absent)]
