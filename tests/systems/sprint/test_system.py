"""The component table of SPRINT as a system is that of the paper."""

from __future__ import annotations

from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.system import SPRINT


def test_components_are_tables_3_and_4() -> None:
    found = {component.name: component for component in SPRINT.components}
    for row in COMPONENTS:
        assert found[row.name].activity == row.activity
        assert found[row.name].kind == row.kind
        assert found[row.name].candidates == row.terms
