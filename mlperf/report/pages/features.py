"""How a feature table is shown to people: few kernels side by side, one feature a line."""

from __future__ import annotations

from mlperf.features.network.base import KEY, FeatureTable
from mlperf.report.text.views import Section

MAX_SIDE_BY_SIDE = 6


def feature_sections(table: FeatureTable) -> tuple[Section, ...]:
    """Features with their units, a column a kernel; many kernels as the table itself, a line a kernel."""
    if len(table.frame) > MAX_SIDE_BY_SIDE:
        return (Section("", table.frame),)
    turned = table.frame.set_index(KEY).T
    numbers = turned.map(lambda value: f"{value:.6g}" if value % 1 else f"{value:.0f}")
    units = [column.unit if column.unit != "1" else "" for column in table.columns]
    shown = numbers.rename_axis(None, axis=1).reset_index(names="feature")
    shown.insert(1, "unit", units)
    return (Section("", shown),)
