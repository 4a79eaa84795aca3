"""Plans as people write them."""

from __future__ import annotations

import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.model_parallel.plans import LayerPlan, read_plan


def test_a_plan_is_three_counts_a_layer() -> None:
    assert read_plan("2x3x1/1x1x4") == (LayerPlan(2, 3, 1), LayerPlan(1, 1, 4))
    assert read_plan("2x3x1")[0].n_hosts == 6


@pytest.mark.parametrize("text", ["", "2x1", "2x0x1", "2x1x1/", "2x\u00b2x1", "axbxc"])
def test_other_texts_are_refused_where_they_stand(text: str) -> None:
    with pytest.raises(UsageError, match="row 3") as caught:
        read_plan(text, "row 3")
    assert "three counts" in str(caught.value)
