"""The nearest known word to an unknown one, for hints."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Hint for an unknown ``word``: the nearest known ones, or all of them where none is near.

    Parameters
    ----------
    word : str
        What the user wrote.
    known : iterable of str
        What would have been right.

    Returns
    -------
    str
        ``"did you mean 'vgg16'?"`` or ``"known are: a, b, c"``; empty where nothing is known.
    """
    names = sorted(known)
    near = get_close_matches(word.lower(), [name.lower() for name in names], n=3, cutoff=0.6)
    spelled = [name for name in names if name.lower() in near]
    if spelled:
        return f"did you mean {' or '.join(repr(name) for name in spelled)}?"
    return f"known are: {', '.join(names)}" if names else ""
