"""How R names interactions as a model changes: variables stand in the order in which the current formula mentions them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlperf.models.formula.formula import Term, ordered_terms
from mlperf.models.selection.search import Point


def after_drop(current: Sequence[Term], key: frozenset[str]) -> list[Term]:
    """Terms of the model without one, labelled anew."""
    return list(ordered_terms(term for term in current if term.key != key))


def after_add(current: Sequence[Term], added: Term) -> list[Term]:
    """Terms of the model with one more, by interaction order, labelled as R does when it reads its own formula again."""
    return list(ordered_terms(ordered_terms([*current, added])))


def model_labels(
    start: Sequence[Term], added: Mapping[int, Term], ids: Mapping[frozenset[str], int], refits: Sequence[Point]
) -> tuple[list[dict[int, str]], list[tuple[str, ...]]]:
    """Labels of every model on the way: in tables and coefficients, and in the printed formula.

    R prints a new formula with the labels of the old one and reads it again afterwards, which may turn an interaction round.

    Parameters
    ----------
    start : sequence of Term
        As the first formula names them.
    added : mapping of int to Term
        Terms of the upper scope as it names them, by id.
    ids : mapping of frozenset to int
        Id of each term by its variables.
    refits : sequence of Point

    Returns
    -------
    tables : list of dict
        One a refit: label of each term id, in the order of the model's formula.
    formulas : list of tuple of str
        One a refit: labels in the printed formula.
    """
    keys = {number: key for key, number in ids.items()}
    current = list(start)
    tables, formulas = [], []
    for number, point in enumerate(refits):
        printed: Sequence[Term] = current
        if number and point.sign < 0:
            printed = [term for term in current if term.key != keys[point.term]]
            current = after_drop(current, keys[point.term])
        elif number:
            printed = ordered_terms([*current, added[point.term]])
            current = after_add(current, added[point.term])
        tables.append({ids[term.key]: term.name for term in current})
        formulas.append(tuple(term.name for term in printed))
    return tables, formulas
