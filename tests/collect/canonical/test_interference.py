"""Only what lies inside the time during which all processes ran is kept."""

from __future__ import annotations

import pytest

from mlperf.collect.canonical.cases import Case
from mlperf.collect.canonical.interference import common_blocks, together_s

pytestmark = pytest.mark.slow


def test_blocks_outside_the_common_time_are_left_out() -> None:
    early = [(0.0, 1.0, 5.0), (1.0, 2.0, 1.0), (2.0, 3.0, 2.0)]
    late = [(1.0, 2.0, 3.0), (2.0, 3.0, 4.0), (3.0, 4.0, 9.0)]
    assert sorted(common_blocks([early, late])) == [1.0, 2.0, 3.0, 4.0]
    assert common_blocks([[(0.0, 1.0, 7.0)], [(5.0, 6.0, 8.0)]]) == [7.0, 8.0]


def test_a_process_of_its_own_times_every_case() -> None:
    cases = (Case("fc", "forward", (300, 200)), Case("fc", "forward", (600, 400)))
    small, large = (min(blocks) for blocks in together_s(cases, 1, n_blocks=3))
    assert 0.0 < small < large
