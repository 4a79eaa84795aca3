"""The first line of trained models, reports, studies and watched programs: how far they err on what they had not seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlperf.report.text.answer import Answer, TimesFrom, count_text, listed, share_text, time_range_text
from mlperf.report.text.numbers import number_text, percent_text

if TYPE_CHECKING:
    import pandas as pd

    from mlperf.forecast.result import Watched
    from mlperf.studies.demo import Demo
    from mlperf.studies.kernels.kernel_model import KernelModel, KernelPredictions
    from mlperf.studies.kernels.published import PublishedModel
    from mlperf.studies.kernels.study import KernelStudy
    from mlperf.studies.open_data.scoring.result import OpenAccuracy
    from mlperf.training.model import Model
    from mlperf.training.quality import QualityModel
    from mlperf.training.reported_model import ModelReport
    from mlperf.training.run_report import RunReport
    from mlperf.training.table.table_model import TableModel

PREDICTOR, EXPLAINED = "learnt", "linear"


def model_answer(result: Model) -> Answer:
    """Error of steps of networks left out, and of whole runs where there are any."""
    # The other answers of this file are of commands that fit nothing, and need not wait for what fits.
    from mlperf.training.run_report import run_report

    campaigns = listed(result.provenance.get("data_sha256", {}))
    processor = "" if result.measured_on is None else result.measured_on.processor
    asked = f"model of {count_text(len(result.cnns), 'network')}, {result.gradient.backend}"
    told = [*steps_text(result.score.accuracy), *runs_text(run_report(result))]
    return Answer(asked, ", ".join(told) or "nothing was left out", TimesFrom(campaigns, processor, assumed=result.absent))


def steps_text(accuracy: pd.DataFrame) -> list[str]:
    """Mean error of steps of networks left out, by the predictor and by the model that explains."""
    if accuracy.empty:
        return []
    errors = accuracy.set_index("method")["mape"]
    found = [f"training steps of networks left out are missed by {percent_text(float(errors[PREDICTOR]))} on average"]
    if EXPLAINED in errors:
        found.append(f"by {percent_text(float(errors[EXPLAINED]))} with the linear model that explains")
    return found


def runs_text(runs: RunReport | None) -> list[str]:
    """Mean error of epochs of networks left out."""
    if runs is None or runs.left_out.empty:
        return []
    error = float(runs.left_out.set_index("output")["mean_error"]["epoch_s"])
    return [f"epochs of {count_text(runs.n_networks, 'network')} left out are missed by {percent_text(error)}"]


def report_answer(result: ModelReport) -> Answer:
    """The same of a stored model, and of a campaign's how many warnings its parts have."""
    if result.table is not None:
        table, part = result.table, result.parts[0]
        error = float(part.left_out["mape"].iloc[0]) if len(part.left_out) else math.nan
        return table_text(table.target, table.method, error, part.noise_floor, table.reason)
    warnings = sum(len(part.warnings) for part in result.parts)
    told = [*steps_text(result.accuracy), *runs_text(result.runs), f"{count_text(warnings, 'warning')} on its fits"]
    return Answer(f"model of {count_text(len(result.parts), 'part')}", ", ".join(told), TimesFrom(assumed=result.absent))


def table_answer(result: TableModel) -> Answer:
    """Error of rows left out, and what repeats of one row would be missed by."""
    error = math.nan if result.errors is None else result.errors.errors.mape
    return table_text(result.target, result.method, error, result.noise_floor, result.reason)


def table_text(target: str, method: str, error: float, noise_floor: float, reason: str) -> Answer:
    """How far a table's model errs."""
    from mlperf.training.table.table_model import SIGNED

    if math.isnan(error) and SIGNED in reason:
        found = f"how far new rows are missed is not told in percent, {SIGNED}"
    elif math.isnan(error):
        found = "how far new rows are missed is not known, nothing could be left out"
    else:
        found = f"rows that it had not seen are missed by {percent_text(error)} on average"
    # Nothing is said of repeats that scatter by more than the error: their scatter is no bound of it.
    if not math.isnan(noise_floor) and not noise_floor > error:
        found = f"{found}, where the true model would miss by {percent_text(noise_floor)} (repeats of one row scatter)"
    return Answer(f"{target} by {method}", found)


def quality_answer(result: QualityModel) -> Answer:
    """Error of settings left out."""
    asked = f"epochs to an accuracy of {percent_text(result.target_accuracy)}"
    told = [f"{count_text(result.n_settings, 'setting')}, {count_text(len(result.rows), 'run')}"]
    if result.errors is not None:
        told.append(f"settings left out are missed by {percent_text(result.errors.errors.mape)} on average")
    if result.experimental is not None:
        told.append(result.experimental)
    return Answer(asked, ", ".join(told))


def demo_answer(result: Demo) -> Answer:
    """Error of the networks held out."""
    table = result.comparison.table
    inside = share_text(int(table["inside"].sum()), len(table))
    found = (
        f"{count_text(len(table), 'training step')} of {len(result.held_out)} networks that nothing was fitted on are missed by "
        f"{percent_text(result.comparison.mape)} on average, {inside} lie in their 95 % interval"
    )
    return Answer(f"trained on {count_text(len(result.model.cnns), 'network')} of {result.campaign}", found)


def study_answer(result: KernelStudy) -> Answer:
    """The best pair of features and learner, and how far it errs."""
    asked = f"{count_text(result.n_rows, 'kernel')} of {result.name}"
    if not result.estimates:
        return Answer(asked, f"{result.setting}, no estimate was asked for")
    best = max(result.estimates, key=lambda one: one.cv_r2)
    found = (
        f"best of {count_text(len(result.estimates), 'pair')} of features and learner is {result.best}: left-out R² "
        f"{best.cv_r2:.3f}, missed by {percent_text(best.mape)} on average"
    )
    return Answer(asked, found)


def kernel_model_answer(result: KernelModel) -> Answer:
    """How far kernels left out are missed."""
    asked = f"times of kernels by {result.features}, {result.learner}"
    if result.score is None:
        return Answer(asked, "nothing was left out")
    score = result.score
    return Answer(asked, f"kernels left out are missed by {percent_text(score.mape)} on average, R² {score.cv_r2:.3f}")


def kernels_answer(result: KernelPredictions) -> Answer:
    """The one time, or the span of several; errors where times were measured."""
    times, n = result.predicted_s, len(result.predicted_s)
    if n == 1:
        interval = result.prediction_interval
        found = time_range_text(float(times[0]), float(interval.lower[0]), float(interval.upper[0]), interval.level)
        asked = f"{result.rows['pattern'].iloc[0]}, N = {int(result.rows['N'].iloc[0])}"
        return Answer(asked, found, kernel_times(result), inside=bool(result.in_domain[0]))
    ends = (time_range_text(float(end), math.nan, math.nan, 0.95) for end in (times.min(), times.max()))
    told = [" to ".join(ends), f"{share_text(int(result.in_domain.sum()), n)} inside the measured domain"]
    if result.score:
        told.append(f"missed by {percent_text(float(result.score['mape']))} on average where it was measured")
    return Answer(count_text(n, "kernel"), ", ".join(told), kernel_times(result))


def kernel_times(result: KernelPredictions) -> TimesFrom:
    """The machine that a model of kernels learnt from, and the machines of the rows that it never saw."""
    others = listed(result.other_machine)
    return TimesFrom(measured_on=result.measured_on, warning=f"NOT of all rows: {others}" if others else "")


def equation_answer(result: PublishedModel) -> Answer:
    """What the printed equation is worth."""
    return Answer(result.name, f"adjusted R² {result.r2_adj} in sample as printed; its coefficients are no costs")


def watched_answer(result: Watched) -> Answer:
    """Who erred less."""
    asked = f"{result.performance} {number_text(result.horizon_s, 3)} s ahead"
    if not result.n_scored:
        return Answer(asked, result.verdict)
    errors = f"the forecast errs by {percent_text(result.mape)}, expecting no change by {percent_text(result.persistence_mape)}"
    # MASE is of logarithms, in which twice as much errs as half as much does: relative errors may say otherwise.
    differs = (result.mape - result.persistence_mape) * (result.mase - 1.0) < 0
    return Answer(asked, f"{errors}: {'by their logarithms, ' if differs else ''}{result.verdict}")


def accuracy_answer(result: OpenAccuracy) -> Answer:
    """How many goals are met, where there are any."""
    asked = count_text(len({score.task for score in result.scores}), "task")
    if not result.goals:
        return Answer(asked, f"{count_text(len(result.scores), 'score')}, judged by no goals (--limits)")
    return Answer(asked, f"{len(result.goals) - len(result.missed()):,} of {len(result.goals):,} goals met")
