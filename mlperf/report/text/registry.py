"""Every command's results: the class of each, and where its sections and its figure are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True)
class View:
    """Where sections, figure, page and first line of a result class are made, as ``"module:function"``; empty where nowhere."""

    sections: str = ""
    figure: str = ""
    page: str = ""
    answer: str = ""


def view_at(place: str = "", parts: str = "sections", answer: str = "") -> View:
    """The view of functions that are called alike.

    Parameters
    ----------
    place : str
        Module in `mlperf.report` and what the functions' names begin with: ``"pages.memory:memory"`` has ``memory_sections``.
        Empty: the result's own frame is shown.
    parts : str
        What is there: some of ``sections figure page answer``.
    answer : str
        The same as ``place`` for an answer that is made elsewhere.
    """
    made = {part: f"mlperf.report.{place}_{part}" for part in parts.split() if place}
    return View(**made | ({"answer": f"mlperf.report.{answer}_answer"} if answer else {}))


ROWS: tuple[tuple[str, ...], ...] = (
    # command, class in mlperf, then what `view_at` is told
    ("demo", "studies.demo:Demo", "pages.demos:demo", "sections figure", "pages.model_answers:demo"),
    ("collect", "collect.protocol.summary:Collected"),
    ("collect", "collect.trainer.summary:Trained"),
    ("collect", "collect.synchronous.summary:SynchronousRuns"),
    ("collect", "collect.canonical.summary:MeasuredConstants"),
    ("collect", "collect.servers.summary:ServerRuns"),
    ("collect", "collect.contraction.summary:CollectedContractions"),
    ("collect", "collect.loggps.summary:MeasuredNetwork", "traces.recordings:network"),
    ("collect", "collect.counters.offers:Probe", "pages.features:probe"),
    ("collect", "collect.counters.counted:Counted", "pages.features:counted"),
    ("collect", "collect.counters.kernel_counters:KernelCounters"),
    ("data list", "datasets.catalogue.listing:DataList"),
    ("data columns", "datasets.dictionary.dictionary:DataDictionary"),
    ("data check", "datasets.catalogue.check:DataCheck"),
    ("data template", "datasets.reading.template:Template"),
    ("data export", "datasets.catalogue.export:Exported"),
    ("data import", "datasets.campaigns.gpu_campaign:Imported"),
    ("features swc-s", "features.network.base:FeatureTable", "pages.features:feature"),
    ("features swc-o", "features.network.base:FeatureTable", "pages.features:feature"),
    ("features engine", "features.network.base:FeatureTable", "pages.features:feature"),
    ("features gain", "studies.gain:CharacteristicGain", "pages.features:gain"),
    ("features dwc-b", "features.network.base:FeatureTable", "pages.features:feature"),
    ("features dwc-o", "features.network.base:FeatureTable", "pages.features:feature"),
    ("watch", "forecast.result:Watched", "pages.watched:watched", "sections figure", "pages.model_answers:watched"),
    ("train", "training.model:Model", "pages.models:model", "sections", "pages.model_answers:model"),
    ("train", "training.table.table_model:TableModel", "pages.table_models:model", "sections figure", "pages.model_answers:table"),
    ("train", "training.collectives.exchange_model:ExchangeModel", "systems.fits:exchange", "sections answer"),
    ("train", "training.quality.quality_model:QualityModel", "pages.quality:quality", "sections", "pages.model_answers:quality"),
    ("train", "training.systems.system_fit:SystemFit", "systems.fits:fit", "sections answer"),
    ("train", "training.systems.constants_model:ConstantsModel", "systems.fits:constants", "sections answer"),
    ("train", "training.systems.parts_model:PartsModel", "systems.fits:parts", "sections answer"),
    ("train", "training.systems.server_model:ServerModel", "systems.servers:servers", "sections answer"),
    ("report", "training.reported_model:ModelReport", "pages.models:report", "sections figure page", "pages.model_answers:report"),
    ("report", "training.reported_model:StatsmodelsSummaries", "pages.models:summary"),
    ("report", "report.paper.result:PaperFigures", "paper.result:figure"),
    ("report", "traces.timeline.lanes:TimelineSummary", "pages.timelines:timeline"),
    ("predict", "planning.run_prediction:Prediction", "pages.predictions:prediction", "sections figure", "pages.answers:epoch"),
    ("predict", "planning.systems.prediction:SystemPrediction", "systems.systems:prediction", "sections figure answer"),
    ("predict", "planning.whole_run.result:WholeRun", "systems.whole_runs:whole_run", "sections figure answer"),
    ("predict", "planning.systems.fitted:FittedRows", "systems.fitted:fitted", "sections figure answer"),
    ("predict", "planning.table_prediction:RowPredictions", "pages.table_rows:row", "sections", "pages.answers:rows"),
    ("predict", "planning.table_output:RowsWritten", "pages.table_rows:written", "sections", "pages.answers:written"),
    ("compare", "planning.compare:Comparison", "pages.predictions:comparison", "sections figure", "pages.answers:comparison"),
    (
        "compare",
        "planning.table_comparison:TableComparison",
        "pages.table_rows:comparison",
        "sections figure",
        "pages.answers:rows_comparison",
    ),
    ("calibrate", "planning.calibration.foreign:Calibration", "systems.calibrations:calibration", "sections answer"),
    ("calibrate", "planning.calibration.foreign:CalibratedRows", "systems.calibrations:calibrated", "sections answer"),
    ("search", "planning.search.result:SearchResult", "pages.searches:search", "sections figure", "pages.answers:search"),
    ("search", "planning.systems.search:SystemSearch", "systems.systems:search", "sections figure answer"),
    ("search", "planning.search.machines:MachineSearch", "pages.searches:machines", "sections figure", "pages.answers:machines"),
    ("optimize", "planning.partition.plan:PartitionPlan", "systems.partitions:plan", "sections figure answer"),
    (
        "kernels study",
        "studies.kernels.study:KernelStudy",
        "pages.kernel_study:study",
        "sections figure",
        "pages.model_answers:study",
    ),
    (
        "kernels train",
        "studies.kernels.kernel_model:KernelModel",
        "pages.kernel_study:model",
        "sections",
        "pages.model_answers:kernel_model",
    ),
    (
        "kernels predict",
        "studies.kernels.kernel_model:KernelPredictions",
        "pages.kernel_study:prediction",
        "sections figure",
        "pages.model_answers:kernels",
    ),
    (
        "kernels equation",
        "studies.kernels.published:PublishedModel",
        "pages.kernel_study:equation",
        "sections",
        "pages.model_answers:equation",
    ),
    ("trace import", "traces.writers.registry:WrittenTrace"),
    ("trace export", "traces.writers.registry:WrittenTrace"),
    ("trace check", "traces.clocks.report:ClockReport", "traces.checks:clock", "sections answer"),
    ("trace check", "traces.events.validation:TraceCheck", "traces.checks:check", "sections answer"),
    ("trace replay", "traces.whatif.load:Validation", "traces.what_ifs:validation", "sections answer"),
    ("trace replay", "traces.whatif.assumed:Assumed", "traces.what_ifs:assumed", "sections answer"),
    ("trace whatif", "traces.whatif.ranking:Ranking", "traces.what_ifs:ranking", "sections answer"),
    ("trace whatif", "traces.whatif.assumed:Assumed", "traces.what_ifs:assumed", "sections answer"),
    ("trace domino", "traces.whatif.dominoes:Dominoes", "traces.what_ifs:domino", "sections answer"),
    ("trace balance", "traces.whatif.balance:Balances", "traces.what_ifs:balance", "sections answer"),
    ("trace bounds", "traces.whatif.bounds:Bounds", "traces.limits:bounds", "sections answer"),
    ("trace tolerance", "traces.whatif.tolerance:Tolerance", "traces.limits:tolerance", "sections answer"),
    ("trace tolerance", "traces.whatif.contention:Contention", "traces.limits:contention", "sections answer"),
    ("trace efficiency", "traces.whatif.efficiency:Efficiency", "traces.limits:efficiency", "sections answer"),
    ("trace timeline", "traces.whatif.timeline:RunTimeline", "traces.run_timelines:timeline", "sections figure answer"),
    ("trace record", "traces.recording.recorded:Recorded", "traces.recordings:recording", "sections answer"),
    ("trace ranks", "traces.ranks.profiled.analysis:TrainingRanks", "traces.ranks:ranks", "sections figure answer"),
    ("trace steps", "traces.timeline.decomposition:StepParts", "traces.ranks:steps", "sections figure answer"),
    ("trace diff", "traces.timeline.difference:TraceDifference", "traces.ranks:difference", "sections answer"),
    ("trace table", "traces.to_table:TraceTable", "traces.ranks:table", "sections answer"),
    ("trace job", "traces.ranks.jobs:TrainingJob", "traces.jobs:job", "sections figure answer"),
    ("record", "traces.whole_run.recorded:RecordedRun", "recordings.recorded:recorded", "sections answer"),
    ("record", "traces.whole_run.probed:Probed", "recordings.recorded:probed", "sections answer"),
    ("record steps", "traces.whole_run.steps:RunSteps", "recordings.steps:steps", "sections figure answer"),
    ("compare-runs", "traces.runs.compared:ComparedRuns", "recordings.compared_runs:compared", "sections figure answer"),
    ("record report", "report.recordings.page.report:WrittenReport", "recordings.recorded:report", "sections answer"),
    ("record scaling", "traces.whole_run.scaling:Scaling", "recordings.scaling:scaling", "sections figure answer"),
    ("record advise", "planning.advice.advise:Advice", "recordings.advice:advice", "sections answer"),
    ("record workers", "planning.advice.workers:WorkerPlan", "recordings.advice:workers", "sections figure answer"),
    ("record swarms", "traces.swarms.swarms:Swarms", "recordings.swarms:swarms", "sections figure answer"),
    ("record diff", "traces.whole_run.difference:RunDifference", "recordings.differences:difference", "sections figure answer"),
    ("record table", "traces.run_table:RunTable", "recordings.recorded:run_table", "sections answer"),
    ("record matrix", "traces.links.matrix:CommMatrix", "recordings.links:matrix", "sections figure answer"),
    ("record ring", "traces.links.rings:Rings", "recordings.links:ring", "sections answer"),
    (
        "accuracy",
        "studies.open_data.scoring.result:OpenAccuracy",
        "pages.open_data:accuracy",
        "sections",
        "pages.model_answers:accuracy",
    ),
    ("accuracy", "studies.trainer.result:TrainerAccuracy", "pages.trainer_accuracy:trainer", "sections figure"),
)

RESULTS: Mapping[str, Mapping[str, View]] = MappingProxyType(
    {
        command: MappingProxyType({f"mlperf.{home}": view_at(*told) for name, home, *told in ROWS if name == command})
        for command in dict.fromkeys(name for name, *_ in ROWS)
    }
)
"""Command to the classes of its results, ``"module:Class"``, each with its view; without one its own frame is shown."""

VIEWS: Mapping[str, View] = MappingProxyType(
    {
        **{home: view for classes in RESULTS.values() for home, view in classes.items()},
        "mlperf.forecast.study:OnlineStudy": view_at("pages.watched:study"),
    }
)
"""Views by class: those of the commands' results, and of results that only Python functions return."""


def view_of(result: Shown) -> View:
    """The view of a result; an empty one where its own frame is shown."""
    return VIEWS.get(f"{type(result).__module__}:{type(result).__qualname__}", View())
