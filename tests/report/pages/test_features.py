"""Feature tables as people see them."""

from __future__ import annotations

from mlperf.features.source import loop_features, pattern_nest
from mlperf.report.text.views import result_text
from mlperf.specs.patterns import RULES, make_patterns


def test_few_kernels_stand_side_by_side() -> None:
    text = result_text(loop_features([pattern_nest("ij-jlk-kil"), pattern_nest("ik-kjl-ijl")], {"N": 100}))
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert lines["feature"] == ["unit", "ij-jlk-kil", "ik-kjl-ijl"]
    assert lines["footprint_bytes"] == ["bytes", "8040000", "8040000"]
    assert lines["inner_vectorisable"] == ["0", "1"]


def test_many_kernels_are_a_line_each() -> None:
    patterns = make_patterns(RULES["twice"])[:10]
    text = result_text(loop_features([pattern_nest(pattern) for pattern in patterns], {"N": 20}))
    assert all(any(line.startswith(pattern) for line in text.splitlines()) for pattern in patterns)
