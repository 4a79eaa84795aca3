"""Results of commands on recorded runs: the class of each, and where its sections and its figure are made."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlperf.report.text.view import View

RECORDINGS: Mapping[str, Mapping[str, View]] = MappingProxyType(
    {
        "record": {
            "mlperf.traces.whole_run.recorded:RecordedRun": View(
                "mlperf.report.recordings.recorded:recorded_sections", answer="mlperf.report.recordings.recorded:recorded_answer"
            ),
            "mlperf.traces.whole_run.probed:Probed": View(
                "mlperf.report.recordings.recorded:probed_sections", answer="mlperf.report.recordings.recorded:probed_answer"
            ),
        },
        "record steps": {
            "mlperf.traces.whole_run.steps:RunSteps": View(
                "mlperf.report.recordings.steps:steps_sections",
                "mlperf.report.recordings.steps:steps_figure",
                answer="mlperf.report.recordings.steps:steps_answer",
            )
        },
        "compare-runs": {
            "mlperf.traces.runs.compared:ComparedRuns": View(
                "mlperf.report.recordings.compared_runs:compared_sections",
                "mlperf.report.recordings.compared_runs:compared_figure",
                answer="mlperf.report.recordings.compared_runs:compared_answer",
            )
        },
        "record report": {
            "mlperf.report.recordings.page.report:WrittenReport": View(
                "mlperf.report.recordings.report:report_sections", answer="mlperf.report.recordings.report:report_answer"
            )
        },
        "record scaling": {
            "mlperf.traces.whole_run.scaling:Scaling": View(
                "mlperf.report.recordings.scaling:scaling_sections",
                "mlperf.report.recordings.scaling:scaling_figure",
                answer="mlperf.report.recordings.scaling:scaling_answer",
            )
        },
        "record advise": {
            "mlperf.planning.advice.advise:Advice": View(
                "mlperf.report.recordings.advice:advice_sections", answer="mlperf.report.recordings.advice:advice_answer"
            )
        },
        "record workers": {
            "mlperf.planning.advice.workers:WorkerPlan": View(
                "mlperf.report.recordings.workers:workers_sections",
                "mlperf.report.recordings.workers:workers_figure",
                answer="mlperf.report.recordings.workers:workers_answer",
            )
        },
        "record swarms": {
            "mlperf.traces.swarms.swarms:Swarms": View(
                "mlperf.report.recordings.swarms:swarms_sections",
                "mlperf.report.recordings.swarms:swarms_figure",
                answer="mlperf.report.recordings.swarms:swarms_answer",
            )
        },
        "record diff": {
            "mlperf.traces.whole_run.difference:RunDifference": View(
                "mlperf.report.recordings.differences:difference_sections",
                "mlperf.report.recordings.differences:difference_figure",
                answer="mlperf.report.recordings.differences:difference_answer",
            )
        },
        "record table": {
            "mlperf.traces.run_table:RunTable": View(
                "mlperf.report.recordings.run_tables:run_table_sections",
                answer="mlperf.report.recordings.run_tables:run_table_answer",
            )
        },
        "record matrix": {
            "mlperf.traces.links.matrix:CommMatrix": View(
                "mlperf.report.recordings.links:matrix_sections",
                "mlperf.report.recordings.links:matrix_figure",
                answer="mlperf.report.recordings.links:matrix_answer",
            )
        },
        "record ring": {
            "mlperf.traces.links.rings:Rings": View(
                "mlperf.report.recordings.links:ring_sections", answer="mlperf.report.recordings.links:ring_answer"
            )
        },
    }
)
"""Rows of `mlperf.report.text.registry.RESULTS`."""
