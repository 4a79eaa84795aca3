"""The nearest known word to an unknown one, for hints."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from mlperf.core.errors import MlperfError, UsageError

LEAST_PART = 4
"""Letters of a word that is sought inside others."""


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
    names = tuple(known)
    listed = f"Known: {', '.join({name.lower(): name for name in names}.values())}." if names else ""
    return nearest_hint(word, names) or listed


def nearest_hint(word: str, known: Iterable[str]) -> str:
    """Hint for an unknown word where the message lists all that are known: the nearest one; empty where none is near."""
    near = nearest(word, known)
    return "" if near is None else f"Did you mean {near!r}?"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The nearest known word to an unknown one, else the only one that it is a part of (``mtbf``: ``node_mtbf_s``); None: none is.

    Upper and lower case count as equal.
    """
    spelled, meant = {name.lower(): name for name in known}, str(word).lower()
    whole = [name for name in spelled if len(meant) >= LEAST_PART and meant in name]
    near = get_close_matches(meant, spelled, n=1) or (whole if len(whole) == 1 else [])
    return spelled[near[0]] if near else None


def known_word(
    word: str, known: Collection[str], what: str = "", *, place: str | None = None, error: type[MlperfError] = UsageError
) -> str:
    """The word itself, which is a known one.

    Parameters
    ----------
    word : str
        What was asked for.
    known : collection of str
        What there is.
    what : str
        What the word names, for the message: ``"learner"``.
    place : str, optional
        Where it was asked for.
    error : type
        Raised with all known words, and the nearest as a hint.

    Raises
    ------
    MlperfError
        Of that type, where the word is none of them.
    """
    if not isinstance(word, str) or word not in known:
        got = f"got {what} {word!r}" if what else f"got {word!r}"
        raise error(f"{got}, expected one of {', '.join(known)}", place=place, hint=nearest_hint(str(word), known))
    return word
