"""The first line of predictions, searches and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlperf.report.text.answer import Answer, Outside, TimesFrom, count_text, listed, plain_time, share_text, time_range_text
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, number_text, percent_text
from mlperf.report.text.tables import is_seconds
from mlperf.systems.sprint.components import BY_NAME
from mlperf.systems.sprint.outputs import OUTPUTS

if TYPE_CHECKING:
    import pandas as pd

    from mlperf.planning.compare import Comparison
    from mlperf.planning.run_prediction import Prediction
    from mlperf.planning.search.machines import MachineSearch
    from mlperf.planning.search.result import SearchResult
    from mlperf.planning.table_comparison import TableComparison
    from mlperf.planning.table_output import RowsWritten
    from mlperf.planning.table_prediction import RowPredictions

BELOW_ONE = " (below 1: most updates find no finished gradient)"
MEASURED = {
    "step_s": "training steps",
    "busy_s": "times that the device works",
    "epoch_s": "epochs",
    "gpu_iteration_s": "T_GPU",
    "update_iteration_s": "T_Update",
    "mean_minibatch_size": "mean mini-batch sizes",
}


LEAST_SHARE = 0.01
"""What takes less of an iteration is not worth a word in the first line."""


def epoch_answer(result: Prediction) -> Answer:
    """Epoch and mini-batch of the one configuration, or of the fastest of several."""
    best = int(np.argmin(result.epoch_s))
    where = configuration_text(result, best)
    asked, lead = asked_text(result.cnn, best, where, factors=result.factors)
    interval = result.prediction_interval["epoch_s"]
    bounds = (float(interval.lower[best]), float(interval.upper[best]))
    epoch = time_range_text(float(result.epoch_s[best]), *bounds, interval.level, "an epoch")
    assumed = tuple(name for name, source in result.source.items() if source == "assumed")
    total = total_text(result.epochs, float(result.epoch_s[best]))
    calibrated = "" if result.observed is None else ", calibrated on measured steps"
    found = f"{lead}{epoch}{total}{calibrated}, {minibatch_text(float(result.mean_minibatch_size[best]))}"
    times = TimesFrom.of(result.measured_on, result.machine, result.other_machine, assumed)
    inside = all(bool(result.in_domain[name][best]) for name in OUTPUTS)
    return Answer(asked, found, times, inside=inside, outside=outside_parts(result, best, assumed))


def asked_text(cnns: Sequence[str], best: int, where: str, system: str = "", *, factors: Mapping[str, float]) -> tuple[str, str]:
    """What was predicted, and the words before the numbers of the fastest configuration, ``where``; none where it is alone."""
    behind = f"{f', {system}' if system else ''}{scaled_text(factors)}"
    if len(cnns) == 1:
        return f"{cnns[0]} on {where}{behind}", ""
    asked = f"{listed(dict.fromkeys(cnns))}{behind}, {count_text(len(cnns), 'configuration')}"
    return asked, f"fastest is {cnns[best]} on {where}, "


def scaled_text(factors: Mapping[str, float]) -> str:
    """Components and waits that are taken to be longer or shorter than they are, to stand behind what was asked."""
    scaled = [f"{name} x {factor:g}" for name, factor in factors.items()]
    return f", what if {listed(scaled)}" if scaled else ""


def total_text(epochs: float, epoch_s: float) -> str:
    """The time of all epochs, to stand behind that of one; nothing where there is but one."""
    return "" if epochs == 1.0 else f", {epochs:g} epochs in {plain_time(epochs * epoch_s)}"


def configuration_text(result: Prediction, index: int) -> str:
    """Nodes, GPUs and sub-batch of one configuration."""
    run = result.run
    return run_text(int(run.n_nodes[index]), int(run.n_gpus_per_node[index]), int(run.subbatch_size[index]), result.machine)


def run_text(n_nodes: int, n_gpus_per_node: int, subbatch_size: int, machine: str = "") -> str:
    """Nodes x GPUs of a machine, and sub-batch."""
    return f"{n_nodes} x {count_text(n_gpus_per_node, 'GPU')}{f' of {machine}' if machine else ''}, sub-batch {subbatch_size}"


def sizes_text(row: pd.Series[Any], machine: str = "") -> str:
    """The same of a row of a table."""
    return run_text(int(row["n_nodes"]), int(row["n_gpus_per_node"]), int(row["subbatch_size"]), machine)


def minibatch_text(size: float) -> str:
    """A mean mini-batch size, and why it may be below one sample."""
    return f"mean mini-batch {number_text(size, 3)}{BELOW_ONE if size < 1.0 else ''}"


def outside_parts(result: Prediction, index: int, assumed: Sequence[str] = ()) -> tuple[Outside, ...]:
    """What of a configuration lies outside of what was measured, with its share of its thread's iteration.

    Another machine, which makes everything lie outside, and the ``assumed`` components are told elsewhere in the sentence: they
    are no reasons, unless nothing else is one.
    """
    if result.other_machine:
        return ()
    found = reasons_of(result.outside, index) or [
        (name, name.replace("_", " "), share) for name, share in shares_outside(result, index)
    ]
    return worth_telling(found, assumed, thread_of)


def reasons_of(outside: pd.DataFrame | None, index: int) -> list[tuple[str, str, float]]:
    """Component, reason and share of one configuration's rows; of reasons that are alike the first."""
    if outside is None:
        return []
    rows = outside[outside["configuration"] == index].drop_duplicates("why").to_dict("records")
    return [(str(row["component"]), str(row["why"]), float(row["share"])) for row in rows]


def worth_telling(
    found: Sequence[tuple[str, str, float]], assumed: Sequence[str], thread: Callable[[str], str]
) -> tuple[Outside, ...]:
    """Reasons in the words of an answer: ``assumed`` components and small shares only where nothing else is one."""
    heavy = [each for each in found if each[0] not in assumed] or [(name, name, share) for name, _, share in found]
    told = [each for each in heavy if each[2] >= LEAST_SHARE] or heavy
    return tuple(Outside(why, share=share, of=thread(name)) for name, why, share in told)


def thread_of(component: str) -> str:
    """Of which iteration a component's share is."""
    return "a GPU iteration" if BY_NAME[component].activity == "gpu" else "an update iteration"


def shares_outside(result: Prediction, index: int) -> Iterator[tuple[str, float]]:
    """Components whose flag says that they lie outside, each with its share of its thread's iteration."""
    for parts in (result.gpu_breakdown_s, result.update_breakdown_s):
        total = sum(float(part[index]) for part in parts.values())
        for name, part in parts.items():
            if BY_NAME[name].kind != "coupling" and not bool(result.in_domain[name][index]):
                yield name, float(part[index]) / total


def search_answer(result: SearchResult) -> Answer:
    """The best row, or that there is none."""
    asked = f"{result.cnn} on {result.machine}, by {objective_text(result.objective)}{scaled_text(result.factors)}"
    times = TimesFrom.of(result.measured_on, result.machine, result.other_machine, result.assumed)
    return Answer(asked, best_text(result), times, inside=best_inside(result.best), outside=first_reasons(result))


def machines_answer(result: MachineSearch) -> Answer:
    """The best row of all machines, or that there is none."""
    first = result.searches[0]
    machines = listed(one.machine for one in result.searches)
    asked = f"{first.cnn} on {machines}, by {objective_text(first.objective)}{scaled_text(first.factors)}"
    if not len(result.best):
        return Answer(asked, nothing_text())
    winner = str(result.best["machine"].iloc[0])
    of_it = next(one for one in result.searches if one.machine == winner)
    times = TimesFrom.of(of_it.measured_on, winner, of_it.other_machine, of_it.assumed)
    found = f"best is {winner}, {row_text(result.best.iloc[0], has_windows=first.has_windows)}"
    return Answer(asked, found, times, inside=best_inside(result.best), outside=first_reasons(of_it))


def first_reasons(result: SearchResult) -> tuple[Outside, ...]:
    """What of the first row lies outside of what was measured."""
    return () if result.other_machine else worth_telling(reasons_of(result.outside, 0), result.assumed, thread_of)


def objective_text(objective: str) -> str:
    """What the ranking minimises, in words."""
    return {"epoch_s": "epoch time", "energy_j": "energy", "time_to_target": "time to the target"}.get(objective, objective)


def best_text(result: SearchResult) -> str:
    """The best row in words."""
    if len(result.best):
        row = result.best.iloc[0]
        return f"best is {row_text(row, has_windows=result.has_windows)}{total_text(result.epochs, float(row['epoch_s']))}"
    if not len(result.misses):
        return nothing_text()
    return f"{nothing_text()}, nearest is {row_text(result.misses.iloc[0])}"


def nothing_text() -> str:
    """That nothing was found."""
    return "no configuration holds the windows"


def row_text(row: pd.Series[Any], *, has_windows: bool = False) -> str:
    """One row of a ranking: the run, its epoch, its mini-batch, and how surely it holds the windows if there are any."""
    low, high = (float(row.get(name, float("nan"))) for name in ("epoch_low_s", "epoch_high_s"))
    epoch = time_range_text(float(row["epoch_s"]), low, high, 0.95, "an epoch")
    held = row.get("window_probability")
    surely = "" if not has_windows or held is None or held != held else f", windows hold in {percent_text(float(held))} of draws"
    return f"{sizes_text(row)}: {epoch}, {minibatch_text(float(row['mean_minibatch_size']))}{surely}"


def best_inside(best: pd.DataFrame) -> bool | None:
    """Whether the first row lies inside of what was measured; None without rows."""
    return bool(best["in_domain"].iloc[0]) if len(best) else None


def comparison_answer(result: Comparison) -> Answer:
    """Mean errors of every quantity, what the intervals hold, and how many measurements lie inside the domain."""
    n_rows = max(errors.n for errors in result.errors.values())
    rows = result.table["in_domain"].astype(bool).groupby(result.table["quantity"])
    inside = {name: share_text(int(each.sum()), len(each)) for name, each in rows}
    is_one = len(set(inside.values())) == 1
    told = [
        f"{MEASURED.get(name, name)} are missed by {percent_text(errors.mape)} on average, {held_text(result.coverage[name])}"
        f"{'' if is_one else f', {inside[name]} inside the measured domain'}"
        for name, errors in result.errors.items()
    ]
    if is_one:
        told.append(f"{next(iter(inside.values()))} inside the measured domain")
    times = TimesFrom.of(result.measured_on, "the machine that was measured", result.other_machine)
    return Answer(f"{n_rows:,} measurements", ", ".join(told), times)


def held_text(share: float) -> str:
    """What the intervals hold; that there are none where too little was measured to tell one."""
    return "no interval is known" if share != share else f"the 95 % interval holds {percent_text(share)}"


def rows_comparison_answer(result: TableComparison) -> Answer:
    """Mean and largest error of the rows, and how many lie inside the domain."""
    rows = result.table["in_domain"].astype(bool)
    found = (
        f"{result.target} is missed by {percent_text(result.errors.mape)} on average, {percent_text(result.errors.max)} at most, "
        f"{share_text(int(rows.sum()), len(rows))} inside the measured domain"
    )
    return Answer(count_text(result.errors.n, "measured row"), found)


def rows_answer(result: RowPredictions) -> Answer:
    """Between what the predictions lie, their error where it is known, and how many lie inside the domain."""
    known = result.predicted[np.isfinite(result.predicted)]
    asked = count_text(len(result.rows), "row")
    if not known.size:
        return Answer(asked, f"no {result.target} could be predicted")
    parts = [f"{result.target} {span_text(known, is_time=is_seconds(result.target))}"]
    error = result.relative_error
    missed = np.abs(error[np.isfinite(error)]) if error is not None else np.zeros(0)
    if missed.size:
        parts.append(f"missed by {percent_text(float(missed.mean()))} on average where it was measured")
    parts.append(f"{share_text(int(result.in_domain.sum()), len(result.rows))} inside the measured domain")
    return Answer(asked, ", ".join(parts))


def written_answer(result: RowsWritten) -> Answer:
    """How many rows stand in which file."""
    inside = share_text(result.n_in_domain, result.n_predicted)
    return Answer(
        count_text(result.n_rows, "row"), f"{result.target} written to {result.path}, {inside} inside the measured domain"
    )


def span_text(values: np.ndarray[Any, np.dtype[np.float64]], *, is_time: bool) -> str:
    """The least and the largest of some values; seconds in the unit that reads best for both."""
    unit = best_unit(values.tolist(), TIME_UNITS_S, "s") if is_time else ""
    size = TIME_UNITS_S[unit] if is_time else 1.0
    ends = sorted({number_text(float(end) / size, 3): end for end in (values.min(), values.max())}.items(), key=lambda end: end[1])
    return f"{' to '.join(text for text, _ in ends)}{f' {unit}' if unit else ''}"
