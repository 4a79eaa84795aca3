"""T_ComputeGradient of a CNN as the sum of its kernels' times (SPRINT eqs. 4 to 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.progress import tracked
from mlperf.datasets.dictionary.schema import LIBRARY_GEMMS
from mlperf.features.network.kernels import MEMORY_TERMS, PAPER_MEMORY_TERMS, form_of, kernel_tables
from mlperf.features.network.layer_terms import (
    LIBRARY_FEATURES,
    LIBRARY_TERMS,
    OWN_TERMS,
    PAPER_LIBRARY_TERMS,
    STANDING_IN,
    fitted_kernels,
)
from mlperf.features.network.sgemm import CALIBRATED_TERMS, GLOBAL_TERMS
from mlperf.models import BoostedResidual, GridLocal, NonNegativeOLS, StepwiseOLS
from mlperf.models.uncertainty.domain import Domain
from mlperf.specs.kernels.kernels import GEMM_KERNELS
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.characteristics.stored import Characteristics
from mlperf.training.fits.ratio_model import Scaled, TotalKeeping
from mlperf.training.gradient.call_gaps import CallGaps
from mlperf.training.gradient.launches import Launches
from mlperf.training.gradient.other_device import OtherDevice

# Settings of the learnt residual, fixed before any campaign was scored.
RESIDUAL_SETTINGS: Mapping[str, Any] = {
    "n_folds": 0,
    "max_iter": 80,
    "learning_rate": 0.1,
    "max_leaf_nodes": 12,
    "min_samples_leaf": 8,
}
# Which code a library runs changes at edges in many sizes: with the shapes of products as columns, finer trees missed the
# convolutions of networks left out by a fifth less (`cpu-xeon-torch`, eight folds).
LIBRARY_SETTINGS: Mapping[str, Any] = {**RESIDUAL_SETTINGS, "max_iter": 120, "max_leaf_nodes": 20, "min_samples_leaf": 5}
MEMORY_RESIDUAL_COLUMNS = ("access_bytes", "maps_in", "maps_out", "row_size", "subbatch_size", "step_bytes")
GEMM_RESIDUAL_COLUMNS = ("isolated_s", "m", "n", "k", "step_bytes")

Report = str | tuple[str, ...]

# Share of a step's time that may be predicted outside the domain before the step is flagged.
OUTSIDE_SHARE = 0.05
# Fewer rows cannot tell a slope from a constant and leave anything to judge it by.
LEAST_ROWS = 4

# The answer given by default, and the model that explains it.
PREDICTOR = "learnt"
EXPLAINED = "linear"


@dataclass(frozen=True, slots=True)
class Method:
    """How a kernel's time follows from its sizes: estimators for memory-bound kernels, for products, for products in a library.

    Each makes a fresh estimator from the seed; ``gemm`` None means the isolated time itself.
    ``own`` are those of kernels with terms of their own. ``keep_totals`` rescales the fit so that the sum of the training times
    is preserved.
    """

    memory: Callable[[int], Any]
    gemm: Callable[[int], Any] | None
    in_library: Callable[[int], Any]
    keep_totals: bool
    own: Mapping[str, Callable[[int], Any]] = field(default_factory=dict)

    def maker(self, kernel: str) -> Callable[[int], Any] | None:
        """What fits ``kernel``."""
        if kernel in GEMM_KERNELS:
            return self.gemm
        if kernel in self.own:
            return self.own[kernel]
        return self.in_library if kernel in LIBRARY_GEMMS else self.memory


def _learnt(
    terms: tuple[str, ...], columns: tuple[str, ...], settings: Mapping[str, Any] = RESIDUAL_SETTINGS
) -> Callable[[int], Any]:
    return lambda seed: BoostedResidual(base=NonNegativeOLS(terms=terms), columns=columns, random_state=seed, **settings)


def _stepwise(terms: tuple[str, ...], noise: str) -> Callable[[int], Any]:
    return lambda _seed: StepwiseOLS(terms=terms, noise=noise, report="none")


def _fixed(terms: tuple[str, ...]) -> Callable[[int], Any]:
    return lambda _seed: StepwiseOLS(terms=terms, lower=terms, noise="absolute", report="none")


def methods_with(memory_terms: tuple[str, ...] = (), gemm_terms: tuple[str, ...] = (), *, without: str = "") -> dict[str, Method]:
    """The four methods, with further candidate terms for all but the paper's.

    Parameters
    ----------
    memory_terms, gemm_terms : tuple of str
        Candidates beside `MEMORY_TERMS`, and beside those of products, the library's as well; columns of the kernel rows.
    without : str
        Column that no candidate may read, to see what it is worth.
    """

    def left(*terms: str) -> tuple[str, ...]:
        return tuple(term for term in terms if not without or without not in term)

    memory, calibrated = left(*MEMORY_TERMS, *memory_terms), left(*CALIBRATED_TERMS, *gemm_terms)
    in_library = left(*LIBRARY_TERMS, *gemm_terms)
    own = {kernel: left(*terms, *gemm_terms) for kernel, terms in OWN_TERMS.items()}
    layers = left(*LIBRARY_FEATURES, *gemm_terms)
    return {
        "paper": Method(_fixed(PAPER_MEMORY_TERMS), None, _fixed(PAPER_LIBRARY_TERMS), keep_totals=False),
        "ols": Method(
            _stepwise(memory, "absolute"),
            _stepwise((*GLOBAL_TERMS, *gemm_terms), "absolute"),
            _stepwise(in_library, "absolute"),
            keep_totals=False,
            own={kernel: _stepwise(terms, "absolute") for kernel, terms in own.items()},
        ),
        "linear": Method(
            _stepwise(memory, "relative"),
            _stepwise(calibrated, "relative"),
            _stepwise(in_library, "relative"),
            keep_totals=True,
            own={kernel: _stepwise(terms, "relative") for kernel, terms in own.items()},
        ),
        "learnt": Method(
            _learnt(memory, left(*MEMORY_RESIDUAL_COLUMNS, *memory_terms)),
            _learnt(calibrated, left(*GEMM_RESIDUAL_COLUMNS, *gemm_terms)),
            _learnt(in_library, layers, LIBRARY_SETTINGS),
            keep_totals=True,
            own={kernel: _learnt(terms, layers, LIBRARY_SETTINGS) for kernel, terms in own.items()},
        ),
    }


METHODS: Mapping[str, Method] = methods_with()


@dataclass(frozen=True, slots=True, eq=False)
class GradientModel:
    """Fitted kernels of one backend: ``kernels[kernel][method]`` predicts the seconds of one call.

    ``sgemm`` gives the isolated time of a product; a product kernel of the method ``paper`` has no entry of its own. ``too_few``
    are kernels measured on fewer than four sizes, which were not fitted; ``characteristics`` what the terms read beside sizes.
    ``beyond`` are, by kernel, the sizes of measured calls whose product lies outside the grid of isolated products. ``launches`` is
    what host and device add on a device, ``gaps`` what lies between the calls of a library on a host; both None where a step
    is the sum of its calls. ``device`` is another one than was measured, to which times are carried over.
    """

    backend: str
    kernels: Mapping[str, Mapping[str, Scaled]]
    sgemm: GridLocal | None
    too_few: tuple[str, ...] = ()
    characteristics: Characteristics | None = None
    beyond: Mapping[str, Domain] = field(default_factory=dict)
    launches: Launches | None = None
    gaps: CallGaps | None = None
    device: OtherDevice | None = None

    def step_times(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Seconds of each ``run`` from the times of its calls (eq. 4), on a device as the host launches them; shape (n_runs,)."""
        if self.launches is not None:
            return self.launches.step_times(calls, call_times)
        return step_times(calls, call_times) if self.gaps is None else self.gaps.step_times(calls, call_times)

    def busy_times(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Seconds of each ``run`` for which its processor or device works, shape (n_runs,)."""
        return self.step_times(calls, call_times) if self.launches is None else self.launches.busy_times(calls, call_times)

    def step_spreads(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray | None:
        """Relative standard deviation of the step of each ``run``, shape (n_runs,); None where all steps vary alike."""
        return self.launches.step_spreads(calls, call_times) if self.launches is not None and self.launches.tells_spreads else None

    def call_times(self, calls: pd.DataFrame, method: str = PREDICTOR) -> FloatArray:
        """Seconds of each kernel call.

        Parameters
        ----------
        calls : DataFrame, shape (n_calls, ...)
            As `mlperf.features.network.kernels.kernel_table` makes it, with ``isolated_s`` (see `with_isolated`).
        method : str
            A key of `METHODS`.

        Raises
        ------
        DataError
            A kernel was never measured, and none stands in for it; names the first layer that needs it.
        """
        times = np.full(len(calls), np.nan)
        for kernel, rows in calls.groupby(fitted_kernels(calls), sort=False):
            where = calls.index.get_indexer(rows.index)
            times[where] = self._kernel_times(str(kernel), rows, method)
        return self.carried_over(calls, times)

    def carried_over(self, calls: pd.DataFrame, call_times: FloatArray, ratio: float = 1.0) -> FloatArray:
        """Seconds of calls on the device asked about, ``ratio`` times as long; as they are where that is the measured one."""
        if self.device is None or self.launches is None:
            return call_times
        return self.launches.call_s + ratio * self.device.times(calls, self.launches.device_times(call_times))

    def fitted_as(self, kernel: str) -> str:
        """The kernel whose fit predicts this one: itself, or what stands in for it where it was never measured."""
        known = (each for each in (kernel, *STANDING_IN.get(kernel, ())) if each in self.kernels)
        return next(known, kernel)

    def stood_in(self, calls: pd.DataFrame) -> BoolArray:
        """Whether each call is of a kernel that was never measured, and that another one stands in for; shape (n_calls,)."""
        kernels = fitted_kernels(calls)
        return np.asarray(kernels.map(self.fitted_as) != kernels, bool)

    def _kernel_times(self, kernel: str, rows: pd.DataFrame, method: str) -> FloatArray:
        kernel = self.fitted_as(kernel)
        if kernel not in self.kernels:
            first = rows.iloc[0]
            reason = "was measured on too few sizes" if kernel in self.too_few else "no measurement covers"
            raise DataError(
                f"layer {first['layer']!r} runs the kernel {kernel!r}, which {reason}",
                place=f"CNN {first['cnn']!r}",
                hint=f"Measured kernels: {', '.join(sorted(self.kernels))}. Collect a campaign with a CNN that has such a layer.",
            )
        if method not in self.kernels[kernel]:
            return rows["isolated_s"].to_numpy(float)
        return self.kernels[kernel][method].predict(rows)

    def calls_in_domain(self, calls: pd.DataFrame) -> BoolArray:
        """Whether each call lies inside the sizes its kernel was measured on, and its product inside the grid or beside such."""
        inside = np.ones(len(calls), bool)
        for kernel, rows in calls.groupby(fitted_kernels(calls), sort=False):
            where = calls.index.get_indexer(rows.index)
            inside[where] = self._in_domain(str(kernel), rows)
        return inside

    def _in_domain(self, kernel: str, rows: pd.DataFrame) -> BoolArray:
        """Nothing is known of a kernel that another one stands in for."""
        if self.fitted_as(kernel) != kernel:
            return np.zeros(len(rows), bool)
        return self.kernels[kernel][EXPLAINED].in_domain(rows) & self.products_in_domain(kernel, rows)

    def products_in_domain(self, kernel: str, rows: pd.DataFrame) -> BoolArray:
        """Whether the isolated time of the calls of one kernel is known: from the grid, or because such calls were fitted on."""
        known = rows["isolated_in_domain"].to_numpy(bool).copy()
        if kernel in self.beyond and not known.all():
            known[~known] = self.beyond[kernel].contains(_sizes(rows[~known]))
        return known

    def calls(self, runs: Iterable[tuple[CnnSpec, int]]) -> pd.DataFrame:
        """Kernel calls of several (CNN, sub-batch) pairs, ready for `call_times`; ``run`` is the pair's position."""
        pairs = list(runs)
        return self.described(kernel_tables(pairs, form_of(self.kernels)), {cnn.name: cnn for cnn, _ in pairs})

    def described(self, calls: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
        """Add to kernel calls what the models read besides sizes: isolated times (`with_isolated`) and characteristics.

        Raises
        ------
        DataError
            The model reads counters, and nobody said where those of an unseen network come from.
        """
        known = with_isolated(calls, self.sgemm)
        return known if self.characteristics is None else self.characteristics.complete(known, cnns)


def with_isolated(calls: pd.DataFrame, sgemm: GridLocal | None) -> pd.DataFrame:
    """Add the isolated time of every product (0 for memory kernels) and whether the grid holds it."""
    gemm = calls["kernel"].isin(GEMM_KERNELS).to_numpy()
    isolated = np.zeros(len(calls))
    inside = np.ones(len(calls), bool)
    if sgemm is not None and gemm.any():
        m, n, k = (calls.loc[gemm, name].to_numpy(float) for name in ("m", "n", "k"))
        trans = calls.loc[gemm, "trans"].to_numpy(str)
        isolated[gemm] = calls.loc[gemm, "groups"].to_numpy(float) * sgemm.predict(m, n, k, trans)
        inside[gemm] = sgemm.in_domain(m, n, k, trans)
    return calls.assign(isolated_s=isolated, isolated_in_domain=inside)


def fit_gradient(
    calls: pd.DataFrame,
    sgemm: GridLocal | None,
    backend: str,
    *,
    methods: Iterable[str] = tuple(METHODS),
    table: Mapping[str, Method] = METHODS,
    seed: int = 0,
    report: Report = "none",
) -> GradientModel:
    """Fit every kernel in ``calls`` by every method.

    Parameters
    ----------
    calls : DataFrame
        Measured kernel calls: the columns of `with_isolated` and ``time_s``, the median over rounds, seconds > 0.
    sgemm : GridLocal or None
        Isolated products; None when no sweep was measured (products then use their sizes alone).
    backend : str
        Recorded with the model.
    methods : iterable of str
        Keys of ``table``.
    table : mapping of str to Method
        `METHODS`, or what `methods_with` makes of further terms.
    seed : int
        Of the learnt residual.
    report : str or tuple of str
        What the explained method's reports offer after the selection (see `mlperf.StepwiseOLS`).
    """
    by_kernel = {str(kernel): rows for kernel, rows in calls.groupby(_told_apart(calls), sort=True)}
    kernels = {
        kernel: fit_kernel(kernel, rows, [(name, table[name]) for name in methods], seed=seed, report=report)
        for kernel, rows in tracked(by_kernel.items(), "kernels fitted")
        if len(rows) >= LEAST_ROWS
    }
    too_few = tuple(kernel for kernel in sorted(fitted_kernels(calls).unique()) if kernel not in kernels)
    off_grid = {kernel: rows[~rows["isolated_in_domain"].to_numpy(bool)] for kernel, rows in by_kernel.items() if kernel in kernels}
    beyond = {kernel: Domain.fit(_sizes(rows)) for kernel, rows in off_grid.items() if len(rows)}
    return GradientModel(backend, kernels, sgemm, too_few, beyond=beyond)


def _told_apart(calls: pd.DataFrame) -> pd.Series[str]:
    """What each call is fitted as; code of which there are too few calls is not told apart."""
    counts = fitted_kernels(calls).value_counts()
    return fitted_kernels(calls, counts.index[counts >= LEAST_ROWS])


def _sizes(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[["m", "n", "k"]].astype(float)


def fit_kernel(
    kernel: str, rows: pd.DataFrame, methods: Iterable[tuple[str, Method]], *, seed: int, report: Report
) -> dict[str, Scaled]:
    """Fit one kernel by every method; the isolated time itself, which needs no fit, is left out. Calls of one CNN are a group."""
    fitted = {}
    for name, method in methods:
        make = method.maker(kernel)
        if make is None:
            continue
        estimator = make(seed)
        if name == EXPLAINED:
            estimator.set_params(report=report)
        fitted[name] = TotalKeeping(estimator, method.keep_totals).fit(rows, rows["time_s"].to_numpy(float), rows["cnn"])
    return fitted


def steps_in_domain(calls: pd.DataFrame, call_times: FloatArray, inside: BoolArray) -> BoolArray:
    """Whether at least 95 % of each ``run``'s predicted time is spent in calls inside the domain, shape (n_runs,).

    A step has dozens of calls: asking it of every one of them would flag a step for a softmax of a millionth of its time.
    """
    whole = step_times(calls, call_times)
    known = step_times(calls, np.where(inside, call_times, 0.0))
    return np.asarray(known >= (1.0 - OUTSIDE_SHARE) * whole)


def step_times(calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
    """Sum the calls of each ``run`` (eq. 4): seconds, shape (n_runs,)."""
    runs = calls["run"].to_numpy(int)
    return np.asarray(np.bincount(runs, weights=call_times, minlength=int(runs.max()) + 1), np.float64)
