"""What the SPRINT equations start from: component times of one occurrence, and the runs to predict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest

GPU_WORK = ("load_image", "deform_image", "compute_gradient", "compute_update_value")
UPDATE_WORK = ("update_old_weights", "add_momentum", "allreduce", "update_momentum")
WAITS = ("lock_weights_gpu", "lock_gradient_gpu", "lock_gradient_update", "lock_weights_update", "barrier_wait")
ELSEWHERE = {
    "exchange": "allreduce",
    "compute": "compute_gradient",
    "forward": "compute_gradient",
    "backward": "compute_gradient",
    "input": "load_image",
}
"""What other systems call a component, or a part of it, for hints."""
WAITS_S = tuple(f"{name}_s" for name in WAITS)
SPREADS = ("fetch_weights", "update_gradient", "sum_gradient", "update_weights", "update_work")


@dataclass(frozen=True, slots=True, eq=False)
class ComponentTimes(Shown):
    """Seconds of one occurrence of every measured component (Tables 3 and 4 of the SPRINT paper).

    Every field is a float array; the fields broadcast against each other and against the run grid. One more leading
    axis (perturbed coefficients, draws) is allowed: the solver works on any shape.

    Parameters
    ----------
    fetch_weights_s, load_image_s, deform_image_s, compute_gradient_s, compute_update_value_s, update_gradient_s : array
        GPU thread. ``fetch_weights_s`` is one copy when it happens.
    sum_gradient_s : array
        Update thread, one gradient buffer.
    update_old_weights_s, add_momentum_s, update_momentum_s, update_weights_s : array
        Update thread.
    allreduce_s : array
        The payload alone, without the wait at its barrier.
    gpu_work_std_s : array
        Standard deviation of the GPU thread's work (load to update value) from iteration to iteration.
    barrier_per_buffer_s : array, optional
        The paper's alpha' in seconds per buffer that the slowest node adds more than the mean one; None means
        ``sum_gradient_s``. The closed forms ``convolution`` and ``phases`` do not use it.
    lock_weights_gpu_factor, lock_gradient_gpu_factor, lock_gradient_update_factor, lock_weights_update_factor : array, optional
        What-if factors on the four lock waits, which follow from the times above; None means 1.
    barrier_wait_factor : array, optional
        The same for the wait at the barrier of the all-reduce.
    fetch_weights_std_s, update_gradient_std_s, sum_gradient_std_s, update_weights_std_s : array, optional
        Standard deviations of one hold from occurrence to occurrence; None means that it always takes the same time. They enter
        the second moments of the holds, and those of the update thread the spread between nodes at the barrier.
    update_work_std_s : array, optional
        Standard deviation, from update to update, of what a node's update thread does by itself outside locks (old weights,
        momentum, new momentum); None means 0.

    Raises
    ------
    DataError
        A time is negative or not finite.
    UsageError
        The fields do not broadcast.
    """

    fetch_weights_s: FloatArray
    load_image_s: FloatArray
    deform_image_s: FloatArray
    compute_gradient_s: FloatArray
    compute_update_value_s: FloatArray
    update_gradient_s: FloatArray
    sum_gradient_s: FloatArray
    update_old_weights_s: FloatArray
    add_momentum_s: FloatArray
    allreduce_s: FloatArray
    update_momentum_s: FloatArray
    update_weights_s: FloatArray
    gpu_work_std_s: FloatArray
    barrier_per_buffer_s: FloatArray | None = None
    lock_weights_gpu_factor: FloatArray | None = None
    lock_gradient_gpu_factor: FloatArray | None = None
    lock_gradient_update_factor: FloatArray | None = None
    lock_weights_update_factor: FloatArray | None = None
    barrier_wait_factor: FloatArray | None = None
    fetch_weights_std_s: FloatArray | None = None
    update_gradient_std_s: FloatArray | None = None
    sum_gradient_std_s: FloatArray | None = None
    update_weights_std_s: FloatArray | None = None
    update_work_std_s: FloatArray | None = None

    def __post_init__(self) -> None:
        for name, value in self._given().items():
            array = np.asarray(value, dtype=np.float64)
            _check_seconds(name, array)
            object.__setattr__(self, name, array)
        _common_shape(self._given())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all fields broadcast to."""
        return _common_shape(self._given())

    @property
    def gpu_work_s(self) -> FloatArray:
        """Load, deform, gradient and update value: the GPU thread's work outside locks, w in the equations."""
        return _total(self, GPU_WORK)

    @property
    def update_work_s(self) -> FloatArray:
        """Old weights, momentum, all-reduce payload, new momentum: the update thread's work outside locks."""
        return _total(self, UPDATE_WORK)

    def take(self, rows: IntArray | Sequence[int]) -> ComponentTimes:
        """The configurations ``rows`` (indices into the last axis); scalars stay scalars."""
        return ComponentTimes(**{name: _take(value, rows) for name, value in self._given().items()})

    def scaled(self, factors: Mapping[str, float | FloatArray]) -> ComponentTimes:
        """The same times with components multiplied: ``scaled({"sum_gradient": 0.25})``.

        A wait of `WAITS` is multiplied after the equations gave it: it keeps following from the other times.

        Raises
        ------
        UsageError
            A name is no component.
        """
        given = self._given()
        changed = {}
        for name, factor in factors.items():
            if name in WAITS:
                changed[f"{name}_factor"] = np.asarray(given.get(f"{name}_factor", 1.0) * np.asarray(factor))
            elif f"{name}_s" in given:
                own = [field for field in (f"{name}_s", f"{name}_std_s") if field in given]
                changed.update({field: np.asarray(given[field] * factor) for field in own})
            else:
                known = [*(field.removesuffix("_s") for field in given if field.endswith("_s")), *WAITS]
                near = nearest(str(name), [*known, *ELSEWHERE])
                hint = "" if near is None else f"Did you mean {ELSEWHERE.get(near, near)!r}?"
                raise UsageError(f"got component {name!r}, expected one of {', '.join(known)}", hint=hint)
        return dataclasses.replace(self, **changed)

    @property
    def scaled_waits(self) -> tuple[str, ...]:
        """Waits of `WAITS` that have a factor: only the closed forms can obey it."""
        return tuple(name for name in WAITS if getattr(self, f"{name}_factor") is not None)

    def spread_s(self, name: str) -> FloatArray:
        """Standard deviation of one occurrence of a component, seconds; 0 where none was given."""
        spread = getattr(self, f"{name}_std_s")
        return np.asarray(0.0 if spread is None else spread)

    def wait_factor(self, name: str) -> FloatArray:
        """Factor on a wait of `WAITS`; 1 where none was given."""
        factor = getattr(self, f"{name}_factor")
        return np.asarray(1.0 if factor is None else factor)

    def _given(self) -> dict[str, Any]:
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in every.items() if value is not None}


@dataclass(frozen=True, slots=True, eq=False)
class RunGrid(Shown):
    """Configurations to predict; integer arrays that broadcast to shape (n_configs,).

    Parameters
    ----------
    n_nodes, n_gpus_per_node, subbatch_size, dataset_size : array
        Nodes, GPUs of one node, samples of one GPU iteration, samples of one epoch; all >= 1.
    """

    n_nodes: IntArray
    n_gpus_per_node: IntArray
    subbatch_size: IntArray
    dataset_size: IntArray

    def __post_init__(self) -> None:
        for name, value in self._given().items():
            array = np.asarray(value)
            _check_counts(name, array)
            object.__setattr__(self, name, array.astype(np.int64))
        _common_shape(self._given())

    @classmethod
    def product(
        cls, n_nodes: Sequence[int], n_gpus_per_node: Sequence[int], subbatch_size: Sequence[int], dataset_size: int
    ) -> RunGrid:
        """Every combination, sub-batch fastest, then GPUs, then nodes."""
        nodes, gpus, batch = (
            axis.ravel() for axis in np.meshgrid(list(n_nodes), list(n_gpus_per_node), list(subbatch_size), indexing="ij")
        )
        return cls(nodes, gpus, batch, np.full(nodes.shape, dataset_size))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all fields broadcast to."""
        return _common_shape(self._given())

    @property
    def n_gpus(self) -> IntArray:
        """GPUs of the whole run."""
        return np.asarray(self.n_nodes * self.n_gpus_per_node)

    @property
    def samples_per_iteration(self) -> IntArray:
        """Samples that all GPUs together process in one GPU iteration, M n b."""
        return np.asarray(self.n_gpus * self.subbatch_size)

    def take(self, rows: IntArray | Sequence[int]) -> RunGrid:
        """The configurations ``rows`` (indices into the last axis)."""
        return RunGrid(**{name: _take(value, rows) for name, value in self._given().items()})

    def _given(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def _take(value: Any, rows: IntArray | Sequence[int]) -> Any:
    return value if value.ndim == 0 or value.shape[-1] == 1 else value[..., np.asarray(rows)]


def _total(times: ComponentTimes, names: Sequence[str]) -> FloatArray:
    parts = [getattr(times, f"{name}_s") for name in names]
    return np.asarray(sum(parts))


def _common_shape(fields: Mapping[str, Any]) -> tuple[int, ...]:
    shapes = {name: np.shape(value) for name, value in fields.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        hint = "Give one value per configuration, or one for all."
        raise UsageError(f"got shapes that do not broadcast: {listed}", hint=hint) from error


def _check_seconds(name: str, seconds: FloatArray) -> None:
    bad = ~(np.isfinite(seconds) & (seconds >= 0.0))
    if bad.any():
        value = float(seconds[bad].flat[0])
        hint = "A model that predicts a negative time needs other terms."
        raise DataError(f"got {name} = {value!r}, expected seconds >= 0", hint=hint)


def _check_counts(name: str, counts: Any) -> None:
    if np.asarray(counts).dtype.kind not in "iuf":
        raise DataError(f"got {name} = {counts!r:.60}, expected an integer >= 1, or several", hint="Check the grid of the run.")
    bad = ~((counts >= 1) & (counts == np.floor(counts)))
    if bad.any():
        value = counts[bad].flat[0].item()
        raise DataError(f"got {name} = {value!r}, expected an integer >= 1", hint="Check the grid of the run.")
