"""From a measurement campaign, or any table, to a tested model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import pandas as pd

from mlperf.core.errors import PATH, DataError, MlperfError, UsageError, check_type, fold_count
from mlperf.core.provenance import provenance
from mlperf.core.threads import one_thread
from mlperf.datasets.campaigns.trainer_runs import median_runs
from mlperf.datasets.reading.foreign import open_table
from mlperf.models import GridLocal
from mlperf.training.components.component_fit import fit_components
from mlperf.training.components.component_rows import operation_rows, run_rows
from mlperf.training.further_campaigns import with_further
from mlperf.training.gradient.gradient import METHODS, GradientModel, fit_gradient
from mlperf.training.gradient.gradient_accuracy import LeftOut, accuracy_table, check_predictable, kernel_accuracy, leave_groups_out
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics
from mlperf.training.gradient.gradient_data import CLOCK, GradientData, gradient_data
from mlperf.training.gradient.score import GradientScore
from mlperf.training.gradient.work_model import WorkModel
from mlperf.training.measured_on import MeasuredOn
from mlperf.training.model import Model
from mlperf.training.run_model import fit_run_model, fit_steps
from mlperf.training.table.table_model import TableModel
from mlperf.training.table.train_table import train_table

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

N_FOLDS = 10
MOST_NAMES = 20
NOISES = ("relative", "absolute")
REPEATS = ("all", "median")


@overload
def train(source: Campaign | str | Path, *, target: None = None, **options: Any) -> Model: ...


@overload
def train(source: pd.DataFrame | str | Path, *, target: str, **options: Any) -> TableModel: ...


def train(source: Any, *, target: str | None = None, **options: Any) -> Model | TableModel:
    """Fit a campaign, or one column of any table.

    Parameters
    ----------
    source : Campaign, DataFrame, str or Path
        A campaign (object, folder or bundled name); with ``target``, a table (frame or CSV file).
    target : str, optional
        Column to predict. Makes ``source`` a table.
    **options
        Of `train_campaign` or, with ``target``, of `mlperf.training.table.train_table.train_table`.

    Raises
    ------
    DataError, FitError, UsageError
        As those do.
    """
    if target is not None:
        check_type(target, str, "target", "the name of a column")
        return train_table(source, target, **options)
    if isinstance(source, str | Path) and Path(source).is_file():
        hint = f"For one table say which column to predict: --target COLUMN{_columns_of(source)}."
        raise DataError("got a file, expected the folder of a campaign", place=str(source), hint=hint)
    return train_campaign(source, **options)


def _columns_of(path: str | Path) -> str:
    """The columns of a file, where it is a table."""
    try:
        header = open_table(path).header
    except MlperfError:
        return ""
    more = f" and {len(header) - MOST_NAMES} more" if len(header) > MOST_NAMES else ""
    return f", one of {', '.join(header[:MOST_NAMES])}{more}"


# Of blocks as small as these, more threads spin longer than they work.
@one_thread()
def train_campaign(
    campaign: Campaign | str | Path,
    *,
    noise: str = "relative",
    backend: str | None = None,
    leave_out: Sequence[str] = (),
    n_folds: int = N_FOLDS,
    seed: int = 0,
    jobs: int = 1,
    duplicates: str = "error",
    characteristics: Sequence[str] | None = None,
    counters: Path | None = None,
    runs: Sequence[Campaign | str | Path] = (),
    further: Sequence[Campaign | str | Path] = (),
    repeats: str = "all",
    scored: bool = True,
    left_out_runs: bool = True,
) -> Model:
    """Fit every component of a campaign.

    Gradient time is the sum of kernel models (SPRINT eq. 4), each fitted four ways (see
    `mlperf.training.gradient.gradient.METHODS`) and scored on CNNs that were left out; the others
    take terms chosen by AIC.

    Parameters
    ----------
    campaign : Campaign, str or Path
        A campaign, its folder, or the name of a bundled one.
    noise : str
        ``relative`` (weights 1/t**2) or ``absolute`` (plain OLS) for the components.
    backend : str, optional
        Which engine's rows; needed when the campaign holds several.
    leave_out : sequence of str
        CNNs that nothing may be fitted on.
    n_folds : int
        Folds of CNNs for the left-out error; 0 leaves out one CNN at a time.
    seed : int
        Of the learnt residual and the folds.
    jobs : int
        Parallel workers; the model does not depend on it.
    duplicates : str
        ``keep``, ``drop`` or ``error`` for fully identical rows.
    characteristics : sequence of str, optional
        Sets whose columns are candidate terms of kernel times beside sizes, FLOPs and bytes: ``swc-s``, ``swc-o``, ``dwc-b``
        (see `mlperf.features.network_engine.SETS`); the static ones only of the NumPy engine, where ``swc-s``, which needs
        nothing but the caches of the host, is the default. Left-out errors of a model with counters are those that stand-ins for
        them give: by the cache model or, of library layers, by sizes.
    counters : Path, optional
        Kernel counters for ``dwc-b``; by default those beside the campaign's tables.
    runs : sequence of Campaign, str or Path
        Campaigns of asynchronous runs on the machine of ``campaign``; their components win over operations measured alone.
    further : sequence of Campaign, str or Path
        Campaigns on the machine of ``campaign`` by the same engine, whose kernels and steps are fitted, too: a network of one's own
        beside many that somebody else measured.
    repeats : str
        Which asynchronous runs of a setting count: ``all`` of them, or the one of the ``median`` T_Update, as in the SPRINT paper.
    scored : bool
        Whether each component gets its left-out errors and the tests that know of the selection; nothing predicts with them.
    left_out_runs : bool
        Whether asynchronous runs are left out in turn and predicted: the interval of a run is as wide as their errors. Most of
        the time of training on runs goes there, and predicted means do not depend on it.

    Returns
    -------
    Model
        Same campaign and seed give the same model, whatever ``jobs``.

    Raises
    ------
    DataError
        The campaign is unreadable or lacks a table; a name in ``leave_out`` is not in it; a further one is of another machine.
    UsageError
        Unknown ``noise`` or ``repeats``; further campaigns with counters.
    FitError
        Too few CNNs.
    """
    for name, given, known in (("noise", noise, NOISES), ("repeats", repeats, REPEATS)):
        if given not in known:
            raise UsageError(f"got {name} {given!r}, expected one of {', '.join(known)}")
    own, beside = _campaign(campaign, duplicates), [_campaign(each, duplicates) for each in further]
    found, others = with_further(own, beside, backend, characteristics), [_campaign(run, duplicates) for run in runs]
    _check_names(found, others, leave_out)
    asynchronous = [part for part in (found, *others) if part.components is not None]
    if repeats == "median":
        asynchronous = [median_runs(part) for part in asynchronous]
    gradient: GradientModel | WorkModel
    if found.kernels is None and not asynchronous and found.runs is not None:
        got = "got runs.csv, but neither components.csv beside it nor kernels.csv"
        hint = "mlperf collect asgd writes components.csv; runs alone do not tell what their parts take."
        raise DataError(got, place=str(found.path), hint=hint)
    if found.kernels is None and asynchronous:
        gradient, score, cnns = fit_steps(asynchronous, leave_out), GradientScore.unknown(), tuple[str, ...]()
    else:
        options = {"n_folds": n_folds, "seed": seed, "jobs": jobs}
        gradient, score, cnns = _fit_kernels(found, backend, leave_out, characteristics, counters, **options)
    in_place = run_rows(asynchronous, leave_out) if asynchronous else {}
    alone = {} if found.updates is None else operation_rows(found.updates)
    model = Model(
        gradient=gradient,
        score=score,
        components=fit_components(
            {name: rows for name, rows in alone.items() if name not in in_place}, noise, _cache_bytes([found]), left_out=scored
        ),
        runs=None,
        cnns=cnns,
        noise=noise,
        seed=seed,
        provenance=provenance(data_sha256={part.name: part.sha256 for part in (own, *beside, *others)}, seed=seed),
        measured_on=MeasuredOn.of(found, gradient.backend),
    )
    return with_runs(model, asynchronous, leave_out, scored=scored, left_out_runs=left_out_runs) if asynchronous else model


def with_runs(
    model: Model,
    campaigns: Sequence[Campaign],
    leave_out: Sequence[str] = (),
    *,
    scored: bool = True,
    left_out_runs: bool = True,
    like: Model | None = None,
) -> Model:
    """Fit asynchronous runs onto a model, whose kernels stay as they are.

    Parameters
    ----------
    model : Model
        Gives the time of a step.
    campaigns : sequence of Campaign
        With ``components.csv`` and ``runs.csv``; their components win over operations measured alone, and over earlier runs.
    leave_out : sequence of str
        Networks whose runs are not looked at.
    scored, left_out_runs : bool
        As of `train_campaign`.
    like : Model, optional
        Trained on the same runs with the same options: what no step decides is taken from it, and not fitted again.
    """
    cache_bytes = _cache_bytes(campaigns)
    known = None if like is None else like.runs
    # Runs first: those of another network are refused before minutes went into components.
    runs = fit_run_model(campaigns, model.gradient, model.score, cache_bytes, leave_out, left_out=left_out_runs, known=known)
    rows = run_rows(campaigns, leave_out)
    if like is None:
        components = fit_components(rows, model.noise, cache_bytes, left_out=scored)
    else:
        components = {name: like.components[name] for name in rows}
    ran = {name for campaign in campaigns for name in campaign.table("components")["cnn"].unique()}
    names = (name for campaign in campaigns for name in campaign.cnns if name in ran and name not in leave_out)
    digests = {campaign.name: campaign.sha256 for campaign in campaigns}
    return replace(
        model,
        components={**model.components, **components},
        runs=runs,
        cnns=tuple(dict.fromkeys((*model.cnns, *names))),
        provenance={**model.provenance, "data_sha256": {**model.provenance["data_sha256"], **digests}},
    )


def _cache_bytes(campaigns: Sequence[Campaign]) -> Mapping[str, int]:
    """Caches of the first host that is known, by level."""
    known = (campaign.cache_bytes for campaign in campaigns)
    return next((found for found in known if found), {})


def _fit_kernels(
    campaign: Campaign,
    backend: str | None,
    leave_out: Sequence[str],
    characteristics: Sequence[str] | None,
    counters: Path | None,
    *,
    n_folds: int,
    seed: int,
    jobs: int,
) -> tuple[GradientModel | WorkModel, GradientScore, tuple[str, ...]]:
    """Fit the models of all kernels, and score them on CNNs left out."""
    sgemm = fit_sgemm(campaign)
    data = gradient_data(campaign, sgemm, backend, leave_out)
    further = GradientCharacteristics.of(campaign, data, characteristics, counters)
    data = further.data
    cnns = tuple(str(name) for name in data.steps["cnn"].unique())
    folds = cnn_folds(cnns, n_folds, seed)
    left_out = leave_groups_out(data, folds, table=further.table, complete=further.complete, seed=seed, jobs=jobs)
    gradient = fit_gradient(data.calls, sgemm, data.backend, table=further.table, seed=seed, report=("selective",))
    gradient = replace(gradient, characteristics=further.stored(seed), launches=data.launches, gaps=data.gaps)
    return gradient, _score(left_out, data), cnns


def fit_sgemm(campaign: Campaign) -> GridLocal | None:
    """The local model of isolated products from ``sgemm.csv``, with its validation points (None without that table)."""
    if campaign.sgemm is None:
        return None
    return GridLocal.from_table(campaign.sgemm, time=CLOCK)


def cnn_folds(cnns: Sequence[str], n_folds: int, seed: int) -> list[list[str]]:
    """CNN names in folds: one CNN each, or ``n_folds`` random folds of about equal size (0: one CNN each)."""
    from mlperf.models.validation.folds import grouped_folds

    if fold_count(n_folds) == 0 or n_folds >= len(cnns):
        return [[name] for name in cnns]
    return [[cnns[row] for row in fold.test] for fold in grouped_folds(list(cnns), n_folds, seed)]


def _score(left_out: LeftOut, data: GradientData) -> GradientScore:
    check_predictable(left_out.steps, data.calls)
    kernels = kernel_accuracy(left_out.calls)
    return GradientScore(
        left_out.steps,
        accuracy_table(left_out.steps, data, tuple(METHODS)),
        kernels.assign(noise_floor=kernels["kernel"].map(data.kernel_floor)),
        data.step_cv,
        data.noise_floor,
    )


def _campaign(campaign: Campaign | str | Path, duplicates: str) -> Campaign:
    from mlperf.datasets import Campaign, read_campaign

    if isinstance(campaign, PATH):
        return read_campaign(campaign, duplicates=duplicates)
    given: object = campaign  # whatever the hints say
    hint = "For a table say which column to predict: target=COLUMN." if isinstance(given, pd.DataFrame) else None
    check_type(campaign, Campaign, "campaign", "a campaign, its folder or its name", hint)
    return campaign


def _check_names(campaign: Campaign, others: Sequence[Campaign], names: Sequence[str]) -> None:
    known = {name for part in (campaign, *others) for name in part.cnns}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise DataError(
            f"got CNN {unknown[0]!r} to leave out, expected one of {', '.join(sorted(known))}", place=str(campaign.path)
        )
