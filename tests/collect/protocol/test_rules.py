"""What every request checks alike says what was got."""

from __future__ import annotations

from math import inf, nan

import pytest

from mlperf.collect.protocol.rules import Rule, above_zero, learning, link, refuse_broken
from mlperf.core.errors import UsageError


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            above_zero({"time scale": 0.0, "limit": 1.0, "rate": nan}),
            "got time scale 0, rate nan, expected numbers above 0",
        ),
        (learning(inf, 0.5), "got learning rate inf, momentum 0.5, expected learning rate > 0 and 0 <= momentum < 1, both finite"),
        (learning(0.1, 1.0), "got learning rate 0.1, momentum 1, expected"),
        (
            link(1e9, 0.0, -1.0),
            "got latency 0, -1 s and bandwidth 1e[+]09 bytes/s, expected latency >= 0",
        ),
        (link(0.0, 0.0), "bandwidth 0 bytes/s"),
        (link(inf, 0.0), "bandwidth inf"),
    ],
)
def test_a_broken_rule_says_what_was_got(rule: Rule, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        refuse_broken([rule], "mlperf collect ps")
    assert caught.value.hint == "See mlperf collect ps --help."


def test_numbers_at_the_ends_of_what_is_allowed_break_no_rule() -> None:
    refuse_broken([above_zero({"limit": 1e-9}), learning(1e-9, 0.0), link(1e-9, 0.0), (False, "")], "mlperf collect ps")
