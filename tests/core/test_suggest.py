"""Nearest words."""

from __future__ import annotations

from mlperf.core.suggest import did_you_mean


def test_near_words_are_proposed_and_far_ones_listed() -> None:
    assert did_you_mean("VGG61", ["vgg16", "alexnet"]) == "Did you mean 'vgg16'?"
    assert did_you_mean("zzz", ["b", "a"]) == "Known: b, a."
    assert did_you_mean("x", []) == ""
