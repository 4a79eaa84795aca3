"""What a model rests on: the report of every part, and the accuracy of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest_hint
from mlperf.training.gradient.call_gaps import CallGaps
from mlperf.training.gradient.gradient import GradientModel
from mlperf.training.gradient.launches import Launches
from mlperf.training.model import Model
from mlperf.training.part_report import PartReport, parts_frame, table_part
from mlperf.training.run_report import RunReport, run_report
from mlperf.training.table.table_model import TableModel
from mlperf.training.table.table_report import TableReport, table_report


@dataclass(frozen=True, slots=True, eq=False)
class StatsmodelsSummaries(Shown):
    """What statsmodels prints of the final fit of every part.

    Attributes
    ----------
    summaries : mapping of str to str or None
        By part: ``OLS``, or ``WLS`` with the weights of relative noise, of the terms that were kept, rows taken for independent.
        None where the fit leaves nothing to test, and in models that an earlier release wrote.
    """

    summaries: Mapping[str, str | None]

    def to_frame(self) -> pd.DataFrame:
        """One row a part."""
        return pd.DataFrame(self.summaries.items(), columns=["part", "summary"])


@dataclass(frozen=True, slots=True, eq=False)
class ModelReport(Shown):
    """Report of a whole model.

    Attributes
    ----------
    parts : tuple of PartReport
        Kernels, then components; one part for a table's model.
    accuracy : DataFrame
        Left-out-CNN error of whole steps, one row a method; empty for a table.
    absent : tuple of str
        Components without rows: a prediction takes them from the machine's specification.
    table : TableReport or None
        What else a table's model says.
    runs : RunReport or None
        How a model of asynchronous runs predicts them; the parts explain.
    launches : Launches or None
        What host and device add to a step on a device.
    gaps : CallGaps or None
        What lies between the calls of a library's step on a host.
    """

    parts: tuple[PartReport, ...]
    accuracy: pd.DataFrame
    absent: tuple[str, ...]
    table: TableReport | None = None
    runs: RunReport | None = None
    launches: Launches | None = None
    gaps: CallGaps | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row a part: fit quality beside left-out error and scatter of repeats."""
        return parts_frame(self.parts)

    def statsmodels(self) -> StatsmodelsSummaries:
        """The summaries of statsmodels that are stored with the parts."""
        return StatsmodelsSummaries({part.name: part.fit.statsmodels_summary for part in self.parts})

    def part(self, name: str) -> PartReport:
        """The part of that name; UsageError with the nearest one otherwise."""
        for part in self.parts:
            if part.name == name:
                return part
        known = [part.name for part in self.parts]
        raise UsageError(f"got part {name!r}, expected one of {', '.join(known)}", hint=nearest_hint(name, known))


def model_report(model: Model | TableModel, names: Sequence[str] | None = None) -> ModelReport:
    """Collect the reports of a model's parts.

    Parameters
    ----------
    model : Model or TableModel
        From `mlperf.train` or `mlperf.load_model`.
    names : sequence of str, optional
        Only these kernels or components.

    Raises
    ------
    UsageError
        A name that the model does not have.
    """
    if isinstance(model, TableModel):
        part = table_part(model.target, model.fitted, model.errors, model.noise_floor)
        report = ModelReport((part,), pd.DataFrame(), (), table_report(model))
    else:
        report = ModelReport(model.parts, model.score.accuracy, model.absent, runs=run_report(model))
        if isinstance(model.gradient, GradientModel):
            report = replace(report, launches=model.gradient.launches, gaps=model.gradient.gaps)
    if names is None:
        return report
    return replace(report, runs=None, launches=None, gaps=None, parts=tuple(report.part(name) for name in names))
