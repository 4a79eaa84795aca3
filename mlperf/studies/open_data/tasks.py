"""The table of tasks, by name."""

from __future__ import annotations

from collections.abc import Mapping

from mlperf.studies.open_data.batches import BATCH_TASKS
from mlperf.studies.open_data.collinear import COLLINEAR_TASKS
from mlperf.studies.open_data.coverage import COVERAGE_TASKS
from mlperf.studies.open_data.layers import LAYER_TASKS
from mlperf.studies.open_data.networks import NETWORK_TASKS
from mlperf.studies.open_data.products import PRODUCT_TASKS
from mlperf.studies.open_data.task import Task
from mlperf.studies.open_data.tuning import TUNING_TASKS
from mlperf.studies.open_data.vectors import VECTOR_TASKS
from mlperf.studies.open_data.whole_networks import WHOLE_TASKS


def _order(name: str) -> tuple[str, int]:
    return name[0], int(name[1:])


_ALL = (
    *PRODUCT_TASKS,
    *VECTOR_TASKS,
    *LAYER_TASKS,
    *TUNING_TASKS,
    *NETWORK_TASKS,
    *BATCH_TASKS,
    *WHOLE_TASKS,
    *COLLINEAR_TASKS,
    *COVERAGE_TASKS,
)
TASKS: Mapping[str, Task] = {task.name: task for task in sorted(_ALL, key=lambda task: _order(task.name))}


def task_names() -> tuple[str, ...]:
    """Names of the tasks, in order."""
    return tuple(TASKS)
