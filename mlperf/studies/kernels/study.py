"""The whole study of one table: every feature set with every learner, groups, speed-up, sizes, special and general models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.progress import tracked
from mlperf.core.shown import Shown, records_frame
from mlperf.core.suggest import known_word
from mlperf.models.estimators.learning.groups import GroupScores, group_edges
from mlperf.models.validation.folds import Fold, grouped_folds
from mlperf.studies.kernels.ceilings import NoiseCeiling, group_ceiling, noise_ceiling
from mlperf.studies.kernels.estimates import Estimate, EstimateScore, estimate
from mlperf.studies.kernels.feature_sets import FEATURE_SETS, available_sets, counted_sweep
from mlperf.studies.kernels.group_study import GroupScore, binned, classified
from mlperf.studies.kernels.learners import LEARNERS, learner
from mlperf.studies.kernels.parts import generality, published_row, sizes, speedups
from mlperf.studies.kernels.physical import PhysicalModel, physical_model
from mlperf.studies.kernels.sizes import SizeScore
from mlperf.studies.kernels.speedup import SpeedupScore
from mlperf.studies.kernels.tables.kernel_times import KernelTimes, Setting, operations_frame
from mlperf.studies.kernels.transfer import TransferScore

PARTS = ("estimate", "dynamic", "groups", "physical", "published", "speedup", "sizes", "general")
DYNAMIC_SETS = ("swc-s + swc-o", "dwc-b")
GROUP_SETS = ("swc-o totals", "swc-s", "swc-s + swc-o", "dwc-b")
GROUP_METHODS = ("logistic", "forest")


@dataclass(frozen=True, slots=True, eq=False)
class KernelStudy(Shown):
    """What each kind of workload characteristics is worth on one table.

    Attributes
    ----------
    name, setting : str
        The table, and the sweep of it that the first tables are of.
    n_rows, n_groups : int
        Kernels, and programs that differ in more than names.
    noise : NoiseCeiling
        What no model can go beyond.
    estimates : tuple of EstimateScore
        One for each feature set and learner.
    counted_setting : str
        The sweep whose runs were counted, where it is another one; empty without.
    counted : tuple of EstimateScore
        Counters beside the static sets on that sweep.
    counted_noise : NoiseCeiling or None
        What no model of that sweep can go beyond.
    best : str
        Feature set and learner of the largest left-out R².
    predictions : DataFrame
        Of the best: ``pattern``, ``measured_s``, ``predicted_s``, ``lower_s``, ``upper_s``, ``in_domain``; every row left out once.
    groups : tuple of GroupScore
        One for each feature set and way of telling groups.
    group_ceiling : GroupScores or None
        Groups by one half of the repeats against the other half.
    physical : PhysicalModel or None
        Three costs one can read.
    published : mapping of str to float
        What the paper's printed equation makes of these rows; empty without counts.
    speedups : tuple of SpeedupScore
        Vector code against scalar code of the same pattern.
    sizes : tuple of SizeScore
        Trained on smaller sizes, asked for the largest.
    transfers : tuple of TransferScore
        Special and general models, over builds and over machines.
    operations : DataFrame
        Operations per clock cycle by pattern, build and N.
    clock : str
        Where the clock cycles come from.
    notes : tuple of str
        What is absent and why, what was assumed.
    data_sha256 : mapping of str to str
        What was read.
    """

    name: str
    setting: str
    n_rows: int
    n_groups: int
    noise: NoiseCeiling
    estimates: tuple[EstimateScore, ...]
    counted_setting: str
    counted: tuple[EstimateScore, ...]
    counted_noise: NoiseCeiling | None
    best: str
    predictions: pd.DataFrame
    groups: tuple[GroupScore, ...]
    group_ceiling: GroupScores | None
    physical: PhysicalModel | None
    published: Mapping[str, float]
    speedups: tuple[SpeedupScore, ...]
    sizes: tuple[SizeScore, ...]
    transfers: tuple[TransferScore, ...]
    operations: pd.DataFrame
    clock: str
    notes: tuple[str, ...]
    data_sha256: Mapping[str, str]

    def to_frame(self) -> pd.DataFrame:
        """One row a feature set and learner."""
        return records_frame(EstimateScore, self.estimates)


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What to do: feature sets, learners, parts, groups, folds.

    Attributes
    ----------
    features, learners, parts : tuple of str
        Empty: every one.
    n_groups : int
        Performance groups.
    edges : str or tuple of float
        How groups are cut: ``"quantile"``, ``"kmeans"`` or times in seconds.
    n_folds, seed : int
        Of the grouped folds.
    intervals : bool
        Whether intervals are fitted and their coverage counted.
    """

    features: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    n_groups: int = 4
    edges: str | tuple[float, ...] = "quantile"
    n_folds: int = 10
    seed: int = 0
    intervals: bool = False

    def __post_init__(self) -> None:
        for what, words, known in (
            ("feature set", self.features, FEATURE_SETS),
            ("learner", self.learners, LEARNERS),
            ("part", self.parts, PARTS),
        ):
            for word in words:
                known_word(word, known, what)

    @property
    def comparing(self) -> str:
        """The learner of speed-ups and of special and general models."""
        return self.learners[0] if self.learners else "boosting"

    def has(self, part: str) -> bool:
        """Whether a part was asked for."""
        return not self.parts or part in self.parts


@dataclass(slots=True)
class _Work:
    """One sweep on its way through the study."""

    rows: KernelTimes
    sets: dict[str, pd.DataFrame]
    folds: list[Fold]
    plan: StudyPlan
    found: dict[tuple[str, str], Estimate] = field(default_factory=dict)


def study_kernels(times: KernelTimes, setting: Setting, plan: StudyPlan | None = None) -> KernelStudy:
    """Study one table.

    Parameters
    ----------
    times : KernelTimes
        From `read_kernel_times`; other sweeps of it serve speed-ups, sizes and general models.
    setting : Setting
        The sweep to study, from `choose_setting`.
    plan : StudyPlan, optional
        What to do; everything by default.

    Raises
    ------
    DataError
        The table has no such sweep.
    FitError
        Fewer than two programs.
    """
    plan = plan or StudyPlan()
    rows = times.sweep(setting)
    sets, absent = available_sets(rows)
    if plan.features:
        sets = {name: sets[name] for name in plan.features if name in sets}
    work = _Work(rows, sets, grouped_folds(rows.groups, plan.n_folds, plan.seed), plan)
    estimates = estimated(work) if plan.has("estimate") else ()
    best = max(work.found, key=lambda key: work.found[key].score.cv_r2, default=None)
    groups, ceiling = grouped(work)
    counted_setting, counted, counted_noise = dynamic(times, setting, plan)
    notes = [*times.notes, *(note for note in absent if not plan.features or note.partition(":")[0] in plan.features)]
    transfers = generality(times, plan.comparing, plan.seed, notes) if plan.has("general") else ()
    return KernelStudy(
        name=times.name,
        setting=str(setting),
        n_rows=len(rows.frame),
        n_groups=int(pd.unique(rows.groups).size),
        noise=ceiling_of(rows),
        estimates=estimates,
        counted_setting=counted_setting,
        counted=counted,
        counted_noise=counted_noise,
        best=" with ".join(best) if best else "",
        predictions=best_predictions(work, best),
        groups=groups,
        group_ceiling=ceiling,
        physical=physical_model(rows, work.folds) if plan.has("physical") else None,
        published=published_row(rows) if plan.has("published") else {},
        speedups=speedups(times, plan.comparing, plan.n_folds, plan.seed, notes) if plan.has("speedup") else (),
        sizes=sizes(times, plan.learners, plan.seed, notes) if plan.has("sizes") else (),
        transfers=transfers,
        operations=operations_frame(times),
        clock="; ".join(f"{name}: {facts.clock_source}" for name, facts in times.machines.items()),
        notes=tuple(notes),
        data_sha256=times.data_sha256,
    )


def ceiling_of(rows: KernelTimes) -> NoiseCeiling:
    """Noise of one sweep."""
    return noise_ceiling(*half_times(rows), rows.time_s, rows.groups)


def half_times(rows: KernelTimes) -> tuple[FloatArray, FloatArray]:
    """Means of the two halves of the repeats."""
    return rows.frame["half_a_s"].to_numpy(float), rows.frame["half_b_s"].to_numpy(float)


def estimated(work: _Work) -> tuple[EstimateScore, ...]:
    """Every feature set with every learner."""
    ns = 1e9 * work.rows.time_s / work.rows.iterations
    pairs = [(name, kind) for name in work.sets for kind in work.plan.learners or tuple(LEARNERS)]
    for name, kind in tracked(pairs, "feature sets and learners"):
        work.found[name, kind] = estimate(
            name,
            work.sets[name],
            ns,
            work.rows.groups,
            work.folds,
            learner(kind),
            seed=work.plan.seed,
            intervals=work.plan.intervals,
        )
    return tuple(one.score for one in work.found.values())


def dynamic(times: KernelTimes, setting: Setting, plan: StudyPlan) -> tuple[str, tuple[EstimateScore, ...], NoiseCeiling | None]:
    """Counters beside the static sets, on the sweep that was counted, where that is not the sweep of the study."""
    found = counted_sweep(times, setting) if plan.has("dynamic") else None
    if found is None:
        return "", (), None
    rows = times.sweep(found)
    sets, _ = available_sets(rows)
    work = _Work(rows, {name: sets[name] for name in DYNAMIC_SETS if name in sets}, [], plan)
    work.folds = grouped_folds(rows.groups, plan.n_folds, plan.seed)
    return str(found), estimated(work), ceiling_of(rows)


def best_predictions(work: _Work, best: tuple[str, str] | None) -> pd.DataFrame:
    """Measured and predicted times of every row, by the best pair of features and learner."""
    names = ["pattern", "measured_s", "predicted_s", "lower_s", "upper_s", "in_domain"]
    if best is None:
        return pd.DataFrame(columns=names)
    answers, scale = work.found[best].answers, 1e-9 * work.rows.iterations
    columns: dict[str, Any] = {
        "pattern": work.rows.frame["pattern"].to_numpy(),
        "measured_s": work.rows.time_s,
        "predicted_s": answers.predicted * scale,
        "lower_s": answers.lower * scale,
        "upper_s": answers.upper * scale,
        "in_domain": answers.in_domain,
    }
    return pd.DataFrame(columns)[names]


def grouped(work: _Work) -> tuple[tuple[GroupScore, ...], GroupScores | None]:
    """Performance groups by classifiers, and by binning each set's best regression."""
    plan, rows = work.plan, work.rows
    if not plan.has("groups"):
        return (), None
    how: dict[str, Any] = {"n_groups": plan.n_groups, "edges": plan.edges}
    scores = []
    for name in tracked([one for one in GROUP_SETS if one in work.sets], "feature sets, performance groups"):
        for kind in GROUP_METHODS:
            found, majority = classified(kind, work.sets[name], rows.time_s, work.folds, seed=plan.seed, **how)
            scores.append(GroupScore(name, kind, "classify", found, majority))
        scores += binned_scores(work, name, how)
    edges = group_edges(rows.time_s, plan.n_groups, plan.edges)
    return tuple(scores), group_ceiling(*half_times(rows), edges)


def binned_scores(work: _Work, features: str, how: Mapping[str, Any]) -> Sequence[GroupScore]:
    """Groups from the regressions of one feature set."""
    scores = []
    for kind in ("linear", "boosting"):
        if (features, kind) in work.found:
            predicted = 1e-9 * work.rows.iterations * work.found[features, kind].answers.predicted
            found, majority = binned(predicted, work.rows.time_s, work.folds, **how)
            scores.append(GroupScore(features, kind, "bin the regression", found, majority))
    return scores
