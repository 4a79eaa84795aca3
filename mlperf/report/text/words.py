"""The words that a newcomer meets in results, each in half a sentence; docs/glossary.md holds the same and more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlperf.report.text.views import Section

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "sub-batch": "the samples that one GPU takes in one iteration",
        "mean mini-batch": "the samples whose gradients one update of the weights adds up, on average; below 1 where most updates "
        "find no finished gradient",
        "staleness": "the updates between the reading of weights and the use of the gradient that was made with them",
        "gpu iteration": "one round of a GPU's thread, T_GPU: fetch weights and images, compute a gradient, hand it over",
        "update iteration": "one round of a node's update thread, T_Update: add up gradients, exchange them with the other nodes, "
        "update the weights",
        "component": "one part of an iteration of either thread, with a time of its own that is measured and modelled",
        "assumed": "taken from the specification of the machine, because nobody measured it; calibrated: --observed then did",
        "in domain": "nearly all of the time goes into work of sizes that were measured; elsewhere the model extrapolates",
        "interval of the mean": "where the mean over many runs lies; that of a run: where a single run lies, which is wider",
        "left out": "kept away from everything that was fitted, and predicted afterwards",
        "mape": "mean of |predicted - measured| / measured",
        "halves differ": "medians of odd rounds against medians of even rounds of the same measurement; a model that knew the "
        "truth would miss the median of all rounds by about half of it",
        "noise floor": "what the model that knows the truth would miss single rows by, from the scatter of equal rows",
        "adjusted R²": "the share of the variance that the terms explain, less what as many terms explain by chance",
        "AIC": "Akaike's criterion: how badly the terms fit, plus 2 for each of them; less is better",
        "window": "the range in which the mini-batch (or the staleness) must lie, because learning works there",
        "Pareto front": "runs that no other run beats in the objective with as many GPUs or fewer",
        "persistence": "the forecast that nothing changes",
        "MASE": "error of the forecast over the error of persistence: below 1 the forecast is better",
    }
)


TITLE = "Words"


def words_section(*names: str) -> Section:
    """Explain some words to those who ask for everything."""
    return Section(TITLE, text="\n".join(f"{name}: {WORDS[name]}." for name in names), is_detail=True)
