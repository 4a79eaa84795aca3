"""Every command's results: the class of each, and where its sections and its figure are made."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlperf.core.shown import Shown
from mlperf.report.text.recording_views import RECORDINGS
from mlperf.report.text.view import View

FEATURES = {"mlperf.features.network.base:FeatureTable": View("mlperf.report.pages.features:feature_sections")}
VALIDATION = {
    "mlperf.traces.whatif.load:Validation": View(
        "mlperf.report.traces.what_ifs:validation_sections",
        answer="mlperf.report.traces.what_ifs:validation_answer",
    )
}
ASSUMED = {
    "mlperf.traces.whatif.assumed:Assumed": View(
        "mlperf.report.traces.what_ifs:assumed_sections",
        answer="mlperf.report.traces.what_ifs:assumed_answer",
    )
}
RANKING = {
    "mlperf.traces.whatif.ranking:Ranking": View(
        "mlperf.report.traces.what_ifs:ranking_sections",
        answer="mlperf.report.traces.what_ifs:ranking_answer",
    )
}
DOMINO = {
    "mlperf.traces.whatif.dominoes:Dominoes": View(
        "mlperf.report.traces.what_ifs:domino_sections",
        answer="mlperf.report.traces.what_ifs:domino_answer",
    )
}
BALANCE = {
    "mlperf.traces.whatif.balance:Balances": View(
        "mlperf.report.traces.what_ifs:balance_sections",
        answer="mlperf.report.traces.what_ifs:balance_answer",
    )
}
BOUNDS = {
    "mlperf.traces.whatif.bounds:Bounds": View(
        "mlperf.report.traces.limits:bounds_sections",
        answer="mlperf.report.traces.limits:bounds_answer",
    )
}
TOLERANCE = {
    "mlperf.traces.whatif.tolerance:Tolerance": View(
        "mlperf.report.traces.limits:tolerance_sections",
        answer="mlperf.report.traces.limits:tolerance_answer",
    )
}
CONTENTION = {
    "mlperf.traces.whatif.contention:Contention": View(
        "mlperf.report.traces.limits:contention_sections",
        answer="mlperf.report.traces.limits:contention_answer",
    )
}
EFFICIENCY = {
    "mlperf.traces.whatif.efficiency:Efficiency": View(
        "mlperf.report.traces.limits:efficiency_sections",
        answer="mlperf.report.traces.limits:efficiency_answer",
    )
}
TIMELINE = {
    "mlperf.traces.whatif.timeline:RunTimeline": View(
        "mlperf.report.traces.run_timelines:timeline_sections",
        "mlperf.report.traces.run_timelines:timeline_figure",
        answer="mlperf.report.traces.run_timelines:timeline_answer",
    )
}

RESULTS: Mapping[str, Mapping[str, View]] = MappingProxyType(
    {
        "demo": {
            "mlperf.studies.demo:Demo": View(
                "mlperf.report.pages.demos:demo_sections",
                "mlperf.report.pages.demos:demo_figure",
                answer="mlperf.report.pages.model_answers:demo_answer",
            )
        },
        "collect": {
            "mlperf.collect.protocol.summary:Collected": View(),
            "mlperf.collect.trainer.summary:Trained": View(),
            "mlperf.collect.synchronous.summary:SynchronousRuns": View(),
            "mlperf.collect.canonical.summary:MeasuredConstants": View(),
            "mlperf.collect.servers.summary:ServerRuns": View(),
            "mlperf.collect.contraction.summary:CollectedContractions": View(),
            "mlperf.collect.loggps.summary:MeasuredNetwork": View("mlperf.report.traces.recordings:network_sections"),
            "mlperf.collect.counters.offers:Probe": View("mlperf.report.pages.features:probe_sections"),
            "mlperf.collect.counters.counted:Counted": View("mlperf.report.pages.features:counted_sections"),
            "mlperf.collect.counters.kernel_counters:KernelCounters": View(),
        },
        "data list": {"mlperf.datasets.catalogue.listing:DataList": View()},
        "data columns": {"mlperf.datasets.dictionary.dictionary:DataDictionary": View()},
        "data check": {"mlperf.datasets.catalogue.check:DataCheck": View()},
        "data template": {"mlperf.datasets.reading.template:Template": View()},
        "data export": {"mlperf.datasets.catalogue.export:Exported": View()},
        "data import": {"mlperf.datasets.campaigns.gpu_campaign:Imported": View()},
        "features swc-s": FEATURES,
        "features swc-o": FEATURES,
        "features engine": FEATURES,
        "features gain": {"mlperf.studies.gain:CharacteristicGain": View("mlperf.report.pages.features:gain_sections")},
        "features dwc-b": FEATURES,
        "features dwc-o": FEATURES,
        "watch": {
            "mlperf.forecast.result:Watched": View(
                "mlperf.report.pages.watched:watched_sections",
                "mlperf.report.pages.watched:watched_figure",
                answer="mlperf.report.pages.model_answers:watched_answer",
            )
        },
        "train": {
            "mlperf.training.model:Model": View(
                "mlperf.report.pages.models:model_sections", answer="mlperf.report.pages.model_answers:model_answer"
            ),
            "mlperf.training.table.table_model:TableModel": View(
                "mlperf.report.pages.table_models:model_sections",
                "mlperf.report.pages.table_models:model_figure",
                answer="mlperf.report.pages.model_answers:table_answer",
            ),
            "mlperf.training.collectives.exchange_model:ExchangeModel": View(
                "mlperf.report.systems.exchange:exchange_sections", answer="mlperf.report.systems.exchange:exchange_answer"
            ),
            "mlperf.training.quality.quality_model:QualityModel": View(
                "mlperf.report.pages.quality:quality_sections", answer="mlperf.report.pages.model_answers:quality_answer"
            ),
            "mlperf.training.systems.system_fit:SystemFit": View(
                "mlperf.report.systems.fits:fit_sections", answer="mlperf.report.systems.fits:fit_answer"
            ),
            "mlperf.training.systems.constants_model:ConstantsModel": View(
                "mlperf.report.systems.measured_parts:constants_sections",
                answer="mlperf.report.systems.measured_parts:constants_answer",
            ),
            "mlperf.training.systems.parts_model:PartsModel": View(
                "mlperf.report.systems.measured_parts:parts_sections", answer="mlperf.report.systems.measured_parts:parts_answer"
            ),
            "mlperf.training.systems.server_model:ServerModel": View(
                "mlperf.report.systems.servers:servers_sections", answer="mlperf.report.systems.servers:servers_answer"
            ),
        },
        "report": {
            "mlperf.training.model_report:ModelReport": View(
                "mlperf.report.pages.models:report_sections",
                "mlperf.report.pages.models:report_figure",
                "mlperf.report.pages.models:report_page",
                answer="mlperf.report.pages.model_answers:report_answer",
            ),
            "mlperf.training.model_report:StatsmodelsSummaries": View("mlperf.report.pages.models:summary_sections"),
            "mlperf.report.paper.result:PaperFigures": View("mlperf.report.paper.view:figure_sections"),
            "mlperf.traces.timeline.lanes:TimelineSummary": View("mlperf.report.pages.timelines:timeline_sections"),
        },
        "predict": {
            "mlperf.planning.run_prediction:Prediction": View(
                "mlperf.report.pages.predictions:prediction_sections",
                "mlperf.report.pages.predictions:prediction_figure",
                answer="mlperf.report.pages.answers:epoch_answer",
            ),
            "mlperf.planning.systems.prediction:SystemPrediction": View(
                "mlperf.report.systems.systems:prediction_sections",
                "mlperf.report.systems.systems:prediction_figure",
                answer="mlperf.report.systems.systems:prediction_answer",
            ),
            "mlperf.planning.whole_run.result:WholeRun": View(
                "mlperf.report.systems.whole_runs:whole_run_sections", answer="mlperf.report.systems.whole_runs:whole_run_answer"
            ),
            "mlperf.planning.systems.fitted:FittedRows": View(
                "mlperf.report.systems.systems:fitted_sections", answer="mlperf.report.systems.systems:fitted_answer"
            ),
            "mlperf.planning.table_prediction:RowPredictions": View(
                "mlperf.report.pages.table_rows:row_sections", answer="mlperf.report.pages.answers:rows_answer"
            ),
            "mlperf.planning.table_output:RowsWritten": View(
                "mlperf.report.pages.table_rows:written_sections", answer="mlperf.report.pages.answers:written_answer"
            ),
        },
        "compare": {
            "mlperf.planning.compare:Comparison": View(
                "mlperf.report.pages.predictions:comparison_sections",
                "mlperf.report.pages.predictions:comparison_figure",
                answer="mlperf.report.pages.answers:comparison_answer",
            ),
            "mlperf.planning.table_comparison:TableComparison": View(
                "mlperf.report.pages.table_rows:comparison_sections",
                "mlperf.report.pages.table_rows:comparison_figure",
                answer="mlperf.report.pages.answers:rows_comparison_answer",
            ),
        },
        "calibrate": {
            "mlperf.planning.calibration.foreign:Calibration": View(
                "mlperf.report.systems.calibrations:calibration_sections",
                answer="mlperf.report.systems.calibrations:calibration_answer",
            ),
            "mlperf.planning.calibration.foreign:CalibratedRows": View(
                "mlperf.report.systems.calibrations:calibrated_sections",
                answer="mlperf.report.systems.calibrations:calibrated_answer",
            ),
        },
        "search": {
            "mlperf.planning.search.result:SearchResult": View(
                "mlperf.report.pages.searches:search_sections",
                "mlperf.report.pages.searches:search_figure",
                answer="mlperf.report.pages.answers:search_answer",
            ),
            "mlperf.planning.systems.search:SystemSearch": View(
                "mlperf.report.systems.systems:search_sections", answer="mlperf.report.systems.systems:search_answer"
            ),
            "mlperf.planning.search.machines:MachineSearch": View(
                "mlperf.report.pages.searches:machines_sections",
                "mlperf.report.pages.searches:machines_figure",
                answer="mlperf.report.pages.answers:machines_answer",
            ),
        },
        "optimize": {
            "mlperf.planning.partition.plan:PartitionPlan": View(
                "mlperf.report.systems.partitions:plan_sections",
                "mlperf.report.systems.partitions:plan_figure",
                answer="mlperf.report.systems.partitions:plan_answer",
            )
        },
        "kernels study": {
            "mlperf.studies.kernels.study:KernelStudy": View(
                "mlperf.report.pages.kernel_study:study_sections",
                "mlperf.report.pages.kernel_study:study_figure",
                answer="mlperf.report.pages.model_answers:study_answer",
            )
        },
        "kernels train": {
            "mlperf.studies.kernels.kernel_model:KernelModel": View(
                "mlperf.report.pages.kernel_study:model_sections", answer="mlperf.report.pages.model_answers:kernel_model_answer"
            )
        },
        "kernels predict": {
            "mlperf.studies.kernels.kernel_model:KernelPredictions": View(
                "mlperf.report.pages.kernel_study:prediction_sections",
                "mlperf.report.pages.kernel_study:prediction_figure",
                answer="mlperf.report.pages.model_answers:kernels_answer",
            )
        },
        "kernels equation": {
            "mlperf.studies.kernels.published:PublishedModel": View(
                "mlperf.report.pages.kernel_study:equation_sections", answer="mlperf.report.pages.model_answers:equation_answer"
            )
        },
        "trace import": {"mlperf.traces.writers.registry:WrittenTrace": View()},
        "trace export": {"mlperf.traces.writers.registry:WrittenTrace": View()},
        "trace check": {
            "mlperf.traces.clocks.report:ClockReport": View(
                "mlperf.report.traces.clocks:clock_sections", answer="mlperf.report.traces.clocks:clock_answer"
            ),
            "mlperf.traces.events.validation:TraceCheck": View(
                "mlperf.report.traces.checks:check_sections", answer="mlperf.report.traces.checks:check_answer"
            ),
        },
        "trace replay": {**VALIDATION, **ASSUMED},
        "trace whatif": {**RANKING, **ASSUMED},
        "trace domino": DOMINO,
        "trace balance": BALANCE,
        "trace bounds": BOUNDS,
        "trace tolerance": {**TOLERANCE, **CONTENTION},
        "trace efficiency": EFFICIENCY,
        "trace timeline": TIMELINE,
        "trace record": {
            "mlperf.traces.recording.recorded:Recorded": View(
                "mlperf.report.traces.recordings:recording_sections", answer="mlperf.report.traces.recordings:recording_answer"
            )
        },
        "trace ranks": {
            "mlperf.traces.ranks.profiled.analysis:TrainingRanks": View(
                "mlperf.report.traces.ranks:ranks_sections",
                "mlperf.report.traces.ranks:ranks_figure",
                answer="mlperf.report.traces.ranks:ranks_answer",
            )
        },
        "trace steps": {
            "mlperf.traces.timeline.decomposition:StepParts": View(
                "mlperf.report.traces.ranks:steps_sections",
                "mlperf.report.traces.ranks:steps_figure",
                answer="mlperf.report.traces.ranks:steps_answer",
            )
        },
        "trace diff": {
            "mlperf.traces.timeline.difference:TraceDifference": View(
                "mlperf.report.traces.ranks:difference_sections", answer="mlperf.report.traces.ranks:difference_answer"
            )
        },
        "trace table": {
            "mlperf.traces.to_table:TraceTable": View(
                "mlperf.report.traces.ranks:table_sections", answer="mlperf.report.traces.ranks:table_answer"
            )
        },
        "trace job": {
            "mlperf.traces.ranks.jobs:TrainingJob": View(
                "mlperf.report.traces.jobs:job_sections",
                "mlperf.report.traces.jobs:job_figure",
                answer="mlperf.report.traces.jobs:job_answer",
            )
        },
        **RECORDINGS,
        "accuracy": {
            "mlperf.studies.open_data.scoring.result:OpenAccuracy": View(
                "mlperf.report.pages.open_data:accuracy_sections", answer="mlperf.report.pages.model_answers:accuracy_answer"
            ),
            "mlperf.studies.trainer.result:TrainerAccuracy": View(
                "mlperf.report.pages.trainer_accuracy:trainer_sections", "mlperf.report.pages.trainer_accuracy:distribution_figure"
            ),
        },
    }
)
"""Command to the classes of its results, ``"module:Class"``, each with its view; without one its own frame is shown."""

VIEWS: Mapping[str, View] = MappingProxyType(
    {
        **{home: view for classes in RESULTS.values() for home, view in classes.items()},
        "mlperf.forecast.study:OnlineStudy": View("mlperf.report.pages.watched:study_sections"),
    }
)
"""Views by class: those of the commands' results, and of results that only Python functions return."""


def view_of(result: Shown) -> View:
    """The view of a result; an empty one where its own frame is shown."""
    return VIEWS.get(f"{type(result).__module__}:{type(result).__qualname__}", View())
