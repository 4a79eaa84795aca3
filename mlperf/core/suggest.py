"""The nearest known word to an unknown one, for hints."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Hint for an unknown ``word``: the nearest known one, or all of them where none is near.

    Parameters
    ----------
    word : str
        What the user wrote; upper and lower case count as equal.
    known : iterable of str
        What would have been right.

    Returns
    -------
    str
        ``"Did you mean 'vgg16'?"`` or ``"Known: a, b, c."``; empty where nothing is known.
    """
    spelled = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), spelled, n=1)
    if near:
        return f"Did you mean {spelled[near[0]]!r}?"
    return f"Known: {', '.join(spelled.values())}." if spelled else ""
