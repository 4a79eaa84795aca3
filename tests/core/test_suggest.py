"""Nearest words."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean, known_word, nearest, nearest_hint


def test_near_words_are_proposed_and_far_ones_listed() -> None:
    assert did_you_mean("VGG61", ["vgg16", "alexnet"]) == "Did you mean 'vgg16'?"
    assert did_you_mean("zzz", ["b", "a"]) == "Known: b, a."
    assert did_you_mean("x", []) == ""


def test_a_message_that_lists_all_words_has_a_hint_of_the_nearest_alone() -> None:
    assert nearest_hint("VGG61", ["vgg16", "alexnet"]) == "Did you mean 'vgg16'?"
    assert nearest_hint("zzz", ["b", "a"]) == ""


def test_a_known_word_is_given_back_and_another_refused_with_all_of_them() -> None:
    assert known_word("adam", {"sgd": 1, "adam": 2}) == "adam"
    with pytest.raises(
        UsageError, match=r"^got learner 'bosting', expected one of linear, boosting\n  hint: Did you mean 'boosting'\?$"
    ):
        known_word("bosting", ("linear", "boosting"), "learner")
    with pytest.raises(DataError, match=r"^job, optimizer: got 'x', expected one of sgd$"):
        known_word("x", ["sgd"], place="job, optimizer", error=DataError)


def test_the_nearest_word_is_near_whatever_its_case() -> None:
    assert nearest("a100", ["V100", "A100"]) == "A100"
    assert nearest("B200", ["V100", "RTX 3090"]) is None


def test_a_part_of_one_word_alone_is_that_word() -> None:
    keys = ["node_mtbf_s", "checkpoint_s", "checkpoint_every_s"]
    assert nearest("mtbf", keys) == "node_mtbf_s"
    assert nearest("eck", keys) is None
    assert nearest("point", keys) is None
