"""Words for a swarm: what its functions are called, and others' are not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray

N_WORDS = 3
LEAST_SHARE = 0.1
"""A word tells a swarm if functions with at least this share of its time have it."""
HEAVIEST = 500
"""Functions of a swarm whose words are looked at."""
COMMON = frozenset(
    re.findall(
        r"\w+",
        "void const char int long short unsigned signed float double bool auto std template typename class struct operator "
        "namespace anonymous impl detail internal cold part isra constprop lto priv clone plt the and for self init "
        "call func function lambda unknown sys libc cpp type val locals",
    )
)
"""Words that say nothing about what a function does."""
_CLONE = re.compile(r"(?:\.(?:constprop|isra|part|cold|lto_priv|llvm)(?:\.\d+)*|@@?[\w.]+)+$")
_LINE = re.compile(r" \([^()]*:\d+\)$")
"""Where a Python function stands."""
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+")


def words_of(symbol: str) -> tuple[str, ...]:
    """Words of a function's name, each once, in order and in small letters.

    Names are split at everything that is no letter and where capitals begin; C++ names that are not demangled are taken apart by
    their lengths. Files of Python functions and parameters of C++ functions are left out, those of templates are not, for they
    tell kernels apart.

    Examples
    --------
    >>> words_of("void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>>(int, float*)")
    ('native', 'vectorized', 'elementwise', 'kernel', 'add', 'functor')
    >>> words_of("_ZN4opal8progress10PollEventsEv")
    ('opal', 'progress', 'poll', 'events')
    """
    text = _CLONE.sub("", _LINE.sub("", symbol))
    if text.startswith("_Z"):
        text = " ".join(_identifiers(text[2:]))
    elif "(" in text and "::" in text:
        text = _without_parameters(text)
    found = (word.lower() for word in _SPLIT.findall(text))
    return tuple(dict.fromkeys(word for word in found if len(word) > 2 and word not in COMMON))


def _identifiers(text: str) -> list[str]:
    """Names in a mangled one: each stands behind its length."""
    found, at = [], 0
    while at < len(text):
        length = re.match(r"\d{1,4}", text[at:])
        if length is None:
            at += 1
            continue
        at += length.end()
        found.append(text[at : at + int(length[0])])
        at += max(int(length[0]), 1)
    return found


def _without_parameters(text: str) -> str:
    """A C++ name before its last list of parameters at the outermost level; ``(anonymous namespace)`` is none."""
    text = text.replace("(anonymous namespace)", "")
    depth, at = 0, len(text)
    for place, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth <= 0:
            at = place
            break
    return text[:at] or text


def captions(functions: Sequence[str], time_ns: FloatArray, swarm: IntArray, n_swarms: int) -> tuple[tuple[str, ...], ...]:
    """Telling words of each swarm: by the share of its time that has them, times how much of all swarms' that is.

    Parameters
    ----------
    functions : sequence of str
        Names.
    time_ns : array, shape (n_functions,)
    swarm : array of int, shape (n_functions,)
        Number of each function's swarm.
    n_swarms : int
    """
    shares = [_shares(functions, time_ns, np.flatnonzero(swarm == number)) for number in range(n_swarms)]
    everywhere: dict[str, float] = {}
    for own in shares:
        for word, share in own.items():
            everywhere[word] = everywhere.get(word, 0.0) + share
    return tuple(_telling(own, everywhere) for own in shares)


def _shares(functions: Sequence[str], time_ns: FloatArray, members: IntArray) -> dict[str, float]:
    """Share of a swarm's time by word."""
    heaviest = members[np.argsort(-time_ns[members], kind="stable")[:HEAVIEST]]
    total = max(float(time_ns[heaviest].sum()), 1.0)
    found: dict[str, float] = {}
    for at in heaviest.tolist():
        for word in words_of(functions[at]):
            found[word] = found.get(word, 0.0) + float(time_ns[at]) / total
    return found


def _telling(own: Mapping[str, float], everywhere: Mapping[str, float]) -> tuple[str, ...]:
    """The best words of one swarm."""
    told = [word for word, share in own.items() if share >= LEAST_SHARE] or list(own)
    score = {word: own[word] ** 2 / everywhere[word] if everywhere[word] > 0 else 0.0 for word in told}
    return tuple(sorted(told, key=lambda word: -score[word])[:N_WORDS])
