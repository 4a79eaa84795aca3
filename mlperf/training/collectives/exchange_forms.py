"""Candidate forms of an exchange's time, as data: terms in N participants, M machines and S bytes."""

from __future__ import annotations

from dataclasses import dataclass

BY_COUNT = "N, M"
SPLITS = ("", BY_COUNT, "N", "S")
PAPER = "paper"


@dataclass(frozen=True, slots=True)
class ExchangeForm:
    """One candidate.

    Attributes
    ----------
    name : str
        ``"ring"``.
    meaning : str
        The formula for people; letters are coefficients.
    terms : tuple of str
        Expressions over N, M, S, ``inside`` and ``across`` (1 where all sit in one machine, where they do not); empty: straight
        lines in log time against log bytes.
    split : str
        Empty: one set of coefficients. ``"N, M"``: one for each count that was measured. ``"N"`` or ``"S"``: one below and one
        above a change of the algorithm, whose place is chosen with them.
    physical : bool
        Whether it says anything of counts that were not measured.
    signed : bool
        Whether coefficients may be negative, as in the paper.
    local : bool
        Whether the formula is multiplied by measured / predicted of the measured counts, interpolated in log bytes.
    """

    name: str
    meaning: str
    terms: tuple[str, ...]
    split: str = ""
    physical: bool = False
    signed: bool = False
    local: bool = False


VOLUME, STEPS = "2 * (N - 1) / N * S", "2 * (N - 1)"
LOG_STEPS, TREE = "log2(N)", "ceil_log2_N"
PAPER_TERMS = ("log2(N) * S", "S")
WITH_LATENCY = (*PAPER_TERMS, "log2(N)")
RAMP = (VOLUME, "sqrt(S)", "N", "1")
APART = (f"{VOLUME} * inside", f"{VOLUME} * across")
TWO_LEVEL_LATENCY = ("log2(N)", "log2(M)", "1")

# fmt: off
FORMS = (
    ExchangeForm(PAPER, "(a log2 N + b) S", PAPER_TERMS, signed=True),
    ExchangeForm("paper with latency", "(a log2 N + b) S + c log2 N", WITH_LATENCY, physical=True),
    ExchangeForm("ring", "2 (N-1) (latency + S / (N bandwidth))", (VOLUME, STEPS), physical=True),
    ExchangeForm("tree", "2 ceil(log2 N) (latency + S / bandwidth)", (f"2 * {TREE} * S", f"2 * {TREE}"), physical=True),
    ExchangeForm("halving-doubling", "2 log2 N latency + 2 (N-1)/N S / bandwidth", (VOLUME, f"2 * {LOG_STEPS}"), physical=True),
    ExchangeForm("ring with ramp", "a 2 (N-1)/N S + b sqrt S + c N + d", RAMP, physical=True),
    ExchangeForm("two-level", "2 (N-1)/N S, inside and across machines apart, + latency by log2 N, log2 M, 1",
                 (*APART, *TWO_LEVEL_LATENCY), physical=True),
    ExchangeForm("two-level with ramp", "two-level + sqrt S, inside and across apart",
                 (*APART, "sqrt(S) * inside", "sqrt(S) * across", *TWO_LEVEL_LATENCY), physical=True),
    ExchangeForm("two-level with growing ramp", "two-level + sqrt S (a + b log2 M)",
                 (*APART, "sqrt(S)", "sqrt(S) * log2(M)", *TWO_LEVEL_LATENCY), physical=True),
    ExchangeForm("change at a count", "a log2 N S + b S + c log2 N, below and above a change of the algorithm",
                 WITH_LATENCY, "N"),
    ExchangeForm("change of the ring at a count", "a 2 (N-1)/N S + b N + c, below and above a change of the algorithm",
                 (VOLUME, "N", "1"), "N"),
    ExchangeForm("change of the ramp at a count", "ring with ramp, below and above a change of the algorithm", RAMP, "N"),
    ExchangeForm("change at a size", "a log2 N S + b S + c log2 N, below and above a change of the protocol", WITH_LATENCY, "S"),
    ExchangeForm("line for each count", "a + b S, for each count of its own", ("1", "S"), BY_COUNT),
    ExchangeForm("ramp for each count", "a + b S + c sqrt S, for each count of its own", ("1", "S", "sqrt(S)"), BY_COUNT),
    ExchangeForm("ring with ramp, local ratio", "ring with ramp times measured / predicted between sizes, for each count",
                 RAMP, local=True),
    ExchangeForm("ramp for each count, local ratio", "ramp for each count times measured / predicted between sizes",
                 ("1", "S", "sqrt(S)"), BY_COUNT, local=True),
    ExchangeForm("log-log lines for each count", "straight lines in log S between what was measured, for each count", (), BY_COUNT),
)
# fmt: on
"""Simple before rich; a new form is one row."""


def form_named(name: str) -> ExchangeForm:
    """The candidate of that name; KeyError where there is none."""
    return {form.name: form for form in FORMS}[name]
