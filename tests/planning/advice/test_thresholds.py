"""Thresholds decide, and only they: moved, they turn a hint on and off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlperf.planning.advice.facts.input_pipeline import InputFacts
from mlperf.planning.advice.rules import input_rule
from mlperf.planning.advice.thresholds import Thresholds

WAITS = InputFacts(("load",), np.full(20, 0.1), np.full(20, 0.01), 0.0, 0.0, 2, 1.0, 100, 1.5, 8)


def test_a_threshold_turns_a_hint_on_and_off() -> None:
    usual = Thresholds()
    assert input_rule(WAITS, usual) is not None
    assert input_rule(WAITS, replace(usual, waiting_for_input=0.11)) is None
    assert input_rule(WAITS, replace(usual, least_gain=0.11)) is None
