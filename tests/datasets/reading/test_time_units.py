"""Units of time are told by how a column's name ends."""

from __future__ import annotations

import pytest

from mlperf.datasets.reading.time_units import plain_name, seconds_in, unit_ratio


def test_the_unit_of_a_name() -> None:
    assert [seconds_in(name) for name in ("a_s", "a_ms", "a_us", "a_ns", "a", "ms")] == [1.0, 1e-3, 1e-6, 1e-9, None, None]
    assert [seconds_in(name) for name in ("a (ms)", "A [sec]", "a, µs")] == [1e-3, 1.0, 1e-6]
    assert [seconds_in(name) for name in ("images_per_s", "images/s", "images per ms")] == [None, None, None]


def test_values_are_brought_to_the_unit_of_another_name() -> None:
    """Names without a unit are left alone."""
    assert [unit_ratio(own, "step_s") for own in ("a_s", "a_ms", "a_us", "a_ns", "a")] == pytest.approx([1, 1e-3, 1e-6, 1e-9, 1])
    assert unit_ratio("a_s", "b_us") == pytest.approx(1e6)
    assert unit_ratio("a_ms", "speed") == 1.0


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("step (ms)", "step_ms"),
        ("Step [msec]", "step_ms"),
        ("step, s", "step_s"),
        ("images/s", "images_per_s"),
        (" Subbatch-Size ", "subbatch_size"),
        ("step time (seconds)", "step_time_s"),
        ("n_gpus", "n_gpus"),
        ("step (min)", "step_min"),
    ],
)
def test_plain_names(name: str, plain: str) -> None:
    assert plain_name(name) == plain
