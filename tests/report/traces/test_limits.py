"""What people read about bounds, tolerances, efficiencies and links."""

from __future__ import annotations

from message_programs import protocol_timing
from replayed_programs import head_to_head
from stepped_programs import binary_swap, myrinet

from mlperf.report.traces.limits import (
    bounds_answer,
    bounds_sections,
    contention_answer,
    contention_sections,
    efficiency_answer,
    efficiency_sections,
    tolerance_answer,
    tolerance_sections,
)
from mlperf.traces.replay import replay
from mlperf.traces.whatif.bounds import WAITS_KEPT, bounds
from mlperf.traces.whatif.contention import shared_link
from mlperf.traces.whatif.efficiency import efficiency
from mlperf.traces.whatif.tolerance import tolerance


def test_a_bound_above_the_measured_time_is_explained() -> None:
    found = bounds(replay(binary_swap(), myrinet()))
    assert WAITS_KEPT in bounds_sections(found)[-2].text
    assert "at best" in bounds_answer(found).text()
    assert "A1 & A2" in bounds_answer(found).text()


def test_the_latency_is_told_with_how_often_it_counts() -> None:
    found = tolerance(replay(binary_swap(), myrinet()))
    assert "more latency makes it 1.00 % longer" in tolerance_answer(found).text()
    assert "3 latencies on the critical path" in tolerance_answer(found).text()
    assert "lambda" in tolerance_sections(found)[-2].text


def test_an_eager_limit_without_a_time_is_explained() -> None:
    assert "never end" in tolerance_sections(tolerance(replay(head_to_head(), protocol_timing())))[-2].text
    assert "never end" not in tolerance_sections(tolerance(replay(binary_swap(), myrinet())))[-2].text


def test_the_smallest_factor_is_named() -> None:
    found = efficiency(replay(binary_swap(), myrinet()))
    assert "load balance holds it back most" in efficiency_answer(found).text()
    assert len(efficiency_sections(found)) == 4


def test_links_that_nobody_shares() -> None:
    found = shared_link(replay(binary_swap(), myrinet()), 1e9)
    assert "no two messages share a link" in contention_answer(found).text()
    assert "1e+09 B/s" in contention_sections(found)[-2].text


def test_every_answer_says_what_it_rests_on() -> None:
    run = replay(binary_swap(), myrinet())
    shown = (
        bounds_sections(bounds(run)),
        tolerance_sections(tolerance(run)),
        efficiency_sections(efficiency(run)),
        contention_sections(shared_link(run, 1e9)),
    )
    assert ["exactly as recorded; network perwiz-myrinet" in sections[-1].text for sections in shown] == [True] * 4


def test_constants_that_hide_a_parameter_say_so_in_place_of_a_tolerance() -> None:
    """Table 5's lines hold G: that none of it is on the path would not mean that any G is tolerated."""
    found = tolerance(replay(binary_swap(), myrinet()))
    assert found.parameters.set_index("parameter").loc["G"].isna().all()
    assert "hide G" in tolerance_sections(found)[-2].text
