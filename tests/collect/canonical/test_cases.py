"""What is measured: counts of the calls, the range of working sets, three aspects of each."""

from __future__ import annotations

import numpy as np

from mlperf.collect.canonical.cases import Case, call_of, canonical_cases, dense_sizes, held_bytes
from mlperf.collect.protocol.host import cache_bytes


def test_fully_connected_sets_reach_four_times_the_largest_cache_in_three_aspects() -> None:
    sizes = list(dense_sizes(quick=False))
    held = np.array([4 * n_in * n_out for n_in, n_out in sizes])
    largest = 4 * max(cache_bytes().values(), default=32 * 2**20)
    assert held.min() < 17_000
    assert 0.4 * largest < held.max() <= 1.01 * largest
    assert {round(float(np.log2(n_in / n_out))) for n_in, n_out in sizes} == {-2, 0, 2}


def test_calls_count_what_the_equations_count() -> None:
    forward, backward, update = (call_of(Case("fc", direction, (30, 20))) for direction in ("forward", "backward", "update"))
    assert (forward.n_connections, forward.n_neurons) == (600, 20)
    assert (backward.n_connections, backward.n_neurons) == (600, 30)
    assert (update.n_connections, update.n_neurons) == (600, 0)
    conv = call_of(Case("conv", "forward", (8, 10, 2, 4, 3)))
    assert (conv.n_connections, conv.n_neurons) == (6 * 8 * 4 * 18, 6 * 8 * 4)
    assert call_of(Case("fc", "error", (30, 20))).n_connections == 0
    for call in (forward, backward, update, conv):
        call.run()


def test_quick_measures_a_part_of_all() -> None:
    whole, part = canonical_cases(quick=False), canonical_cases(quick=True)
    assert set(part) < set(whole)
    assert {(case.kind, case.direction) for case in part} == {(case.kind, case.direction) for case in whole}


def test_the_bytes_of_a_case_are_about_its_working_set_without_making_it() -> None:
    for case in (Case("fc", "forward", (300, 200)), Case("server", "add", (5000,))):
        assert 0.98 * call_of(case).working_set_bytes <= held_bytes(case) <= call_of(case).working_set_bytes
    assert held_bytes(Case("pool", "forward", (6, 12, 16, 2))) == 0
