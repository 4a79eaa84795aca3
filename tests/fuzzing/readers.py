"""The one table of everything that reads what others wrote, each with a small valid input and what is done with what was read."""

from __future__ import annotations

import functools
import json
import runpy
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from . import recordings, seeds

ROOT = Path(__file__).parents[1]
SYSTEM = "mlperf.traces.readers.system"


@dataclass(frozen=True)
class Reader:
    """One way in.

    Attributes
    ----------
    name : str
        For reports.
    files : callable
        The valid input: name to content.
    read : callable
        Reads the folder that holds the files, and uses what was read as a command would.
    spared : tuple of str
        Files that are left whole: others need them to mean something.
    weight : float
        Share of the cases; less where reading takes long.
    check : callable, optional
        Raises AssertionError where what was read is not plausible, beyond being finite.
    may_be_missing : bool
        Whether NaN is a value: an empty cell that the format allows.
    endless : bool
        Whether infinity is one: an open end.
    """

    name: str
    files: Callable[[], Mapping[str, bytes]]
    read: Callable[[Path], Any]
    spared: tuple[str, ...] = ()
    weight: float = 1.0
    check: Callable[[Any], None] | None = None
    may_be_missing: bool = False
    endless: bool = False


def one(name: str, content: bytes | str | Callable[[], bytes]) -> Callable[[], Mapping[str, bytes]]:
    """A folder with one file."""
    made = content if callable(content) else functools.partial(bytes, content if isinstance(content, bytes) else content.encode())
    return functools.cache(lambda: {name: made()})


def not_negative(values: Mapping[str, float]) -> None:
    assert all(value >= 0 for value in values.values()), values


def read_cnn(folder: Path) -> Any:
    from mlperf.specs import find_cnn
    from mlperf.specs.kernels.memory import training_memory

    cnn = find_cnn(folder / "cnn.toml")
    return cnn.n_params, training_memory(cnn, 4)


def read_machine(folder: Path) -> Any:
    from mlperf.specs import find_machine

    return find_machine(folder / "machine.toml")


def read_job(folder: Path) -> Any:
    from mlperf.specs.job import read_job as read

    return read(folder / "job.toml")


def constants(folder: Path) -> Any:
    from mlperf.specs.constants import read_constants

    found = read_constants(folder / "constants.toml")
    return found.muladd_s("fc", np.geomspace(1e3, 1e9, 7))


def prices(folder: Path) -> Any:
    from mlperf.specs.prices import read_prices

    return read_prices(folder / "prices.toml").of("kfc").per_hour(4, 32)


def run_of_a_job(folder: Path) -> Any:
    from mlperf.specs.run import read_run

    return read_run(folder / "run.toml").startup_s


def calibrated_pair(folder: Path) -> Any:
    from mlperf.planning.calibration.foreign import calibrate_tables

    return calibrate_tables(folder / "predicted.csv", folder / "measured.csv", on=["job"]).to_frame()


def steps_of_a_system(folder: Path) -> Any:
    from mlperf.planning.systems.fitted import predict_fitted
    from mlperf.training.systems.train_system import read_rows, train_system

    model = train_system(read_rows(folder / "steps.csv", ["device"]), factors=("device",))
    return predict_fitted(model, folder / "steps.csv").predicted


def speeds_of_servers(folder: Path) -> Any:
    from mlperf.training.systems.by_system import train_for_system

    return [fit.think_s for fit in train_for_system(folder / "speeds.csv", "parameter-server").fits]


def read_onnx(folder: Path) -> Any:
    from mlperf.specs.importers.onnx.graph import from_onnx

    return from_onnx(folder / "net.onnx").n_params


def static_source(name: str, sizes: Mapping[str, int]) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        from mlperf.features.source import swc_s

        return swc_s([folder / name], sizes).frame

    return read


def static_code(name: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        from mlperf.features.code import swc_o

        return swc_o([folder / name], key="file:function").frame

    return read


def counter_table(folder: Path) -> Any:
    from mlperf.features.counters import dwc_b

    return dwc_b([folder / "counters.csv"], times=True).frame


def stream_windows(folder: Path) -> Any:
    from mlperf.features.streams import dwc_o, future_targets

    return dwc_o([folder / "stream.csv"]).frame, future_targets([folder / "stream.csv"], 1.0)


def stream_replay(folder: Path) -> Any:
    from mlperf.forecast import replay

    return replay(folder / "stream.csv").n_samples


def cachegrind(folder: Path) -> Any:
    from mlperf.collect.counters.cachegrind import counters_from, function_table, read_folder

    simulation = read_folder(folder)
    table = function_table(simulation)
    not_negative({name: table[name].min() for name in table.select_dtypes("number")} if len(table) else {})
    return counters_from(simulation)


def perf_stat(folder: Path) -> Any:
    from mlperf.collect.counters.perf_stat import NAMES, counters_from

    return counters_from((folder / "perf.txt").read_text(encoding="utf-8", errors="replace"), list(NAMES)).values


def process_files(folder: Path) -> Any:
    from mlperf.collect.counters.process_files import process_counters

    return process_counters(folder)


def sample_file(folder: Path) -> Any:
    from mlperf.collect.trainer.samples import find_samples

    samples = find_samples(folder / "images.npz")
    return samples.images, samples.labels, samples.test_images, samples.test_labels, samples.size


def run_threads(folder: Path) -> Any:
    from mlperf.planning.timeline import recorded_threads
    from mlperf.traces.timeline.chrome import chrome_text

    timeline = recorded_threads(folder / "run-0001")
    return timeline.intervals, chrome_text(timeline)


def running_records(folder: Path) -> Any:
    from mlperf.collect.trainer.job import read_job as read
    from mlperf.collect.trainer.records import read_records

    return read_records(read(folder), folder).end


def campaign(folder: Path) -> Any:
    from mlperf.datasets import check_data, read_campaign

    check_data(folder)
    found = read_campaign(folder)
    return found.to_frame()


def trainer_runs(folder: Path) -> Any:
    from mlperf.datasets.campaigns.trainer_runs import read_runs

    return read_runs([folder]).table


def synchronous_runs(folder: Path) -> Any:
    from mlperf.datasets import check_data
    from mlperf.datasets.reading.run_parts import read_steps

    check_data(folder / "runs.csv")
    return read_steps(folder / "runs.csv")


def kernel_times(folder: Path) -> Any:
    from mlperf.datasets import read_contractions
    from mlperf.studies.kernels import read_all_kernels

    return read_contractions(folder).to_frame(), read_all_kernels([folder]).frame


def dictionary_table(folder: Path) -> Any:
    from mlperf.datasets import read_table

    return read_table(folder / "sgemm.csv", "sgemm")


def any_table(folder: Path) -> Any:
    from mlperf.datasets import check_data, read_any_table

    check_data(folder / "times.csv", target="time_s")
    return read_any_table(folder / "times.csv", "time_s", others="aside")


def trained_table(folder: Path) -> Any:
    import mlperf
    from mlperf.planning.table_prediction import predict_rows

    model = mlperf.train(folder / "times.csv", target="time_s", terms=("m*n", "m", "device"), method="ols", n_folds=2)
    return predict_rows(model, folder / "times.csv").to_frame()


def joined(folder: Path) -> Any:
    import mlperf

    return mlperf.join_tables(folder / "times.csv", folder / "features.csv", target="time_s").to_frame()


@functools.cache
def write_gpu_run() -> Callable[[Path], Path]:
    made: Callable[[Path], Path] = runpy.run_path(str(ROOT / "datasets" / "campaigns" / "test_gpu_campaign.py"))["write_run"]
    return made


@functools.cache
def gpu_run() -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = write_gpu_run()(Path(scratch) / "run")
        return {f"run/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}


def gpu_import(folder: Path) -> Any:
    from mlperf.datasets import import_gpu_campaign

    return import_gpu_campaign([folder / "run"], folder / "out").n_rows


def extra_p(folder: Path) -> Any:
    from mlperf.models.storage.extra_p import experiment_to_json, read_extrap

    return experiment_to_json(read_extrap(folder / "experiment.json"))


def formula(folder: Path) -> Any:
    from mlperf.models.formula.formula import parse_formula

    return str(parse_formula((folder / "formula.txt").read_text(encoding="utf-8", errors="surrogateescape"), ("a", "b", "c")))


def terms(folder: Path) -> Any:
    from mlperf import StepwiseOLS

    text = (folder / "terms.txt").read_text(encoding="utf-8", errors="surrogateescape")
    rows = pd.DataFrame({"m": [2.0, 3.0, 5.0], "n": [1.0, 4.0, 9.0]})
    return StepwiseOLS(terms=tuple(text.splitlines())).fit(rows, [1.0, 2.0, 4.0]).predict(rows)


def open_limits(folder: Path) -> Any:
    from mlperf.studies.open_data.limits import read_limits

    return len(read_limits(folder / "limits.toml", ("A1", "A2")))


def trainer_limits(folder: Path) -> Any:
    from mlperf.studies.trainer import read_trainer_limits

    return read_trainer_limits(folder / "gates.toml")


def option(kind: Callable[[], click.ParamType[Any]]) -> Callable[[Path], Any]:
    """The text of a file as an option's value."""

    def read(folder: Path) -> Any:
        text = (folder / "value.txt").read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
        return kind().convert(text, None, None)

    return read


def counts() -> click.ParamType[Any]:
    from mlperf.cli.framework.values import Counts

    return Counts()


def window() -> click.ParamType[Any]:
    from mlperf.cli.framework.values import Window

    return Window()


def factors() -> click.ParamType[Any]:
    from mlperf.cli.framework.values import Factors

    return Factors()


def name_or_file() -> click.ParamType[Any]:
    from mlperf.cli.framework.networks import CnnName

    return CnnName()


def term_list() -> click.ParamType[Any]:
    from mlperf.cli.framework.values import TermList

    return TermList()


def configuration(folder: Path) -> Any:
    """The options that a file gives ``mlperf predict``, without running it."""
    from mlperf.cli.commands.predict import predict
    from mlperf.cli.framework.show import Settings

    arguments = [str(folder / "model.json"), "--config", str(folder / "predict.toml")]
    return sorted(predict.make_context("predict", arguments, obj=Settings()).params)


def cache_level(folder: Path) -> Any:
    from mlperf.features.source import parse_cache

    return parse_cache((folder / "cache.txt").read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")).n_sets


def cache_geometry(folder: Path) -> Any:
    from mlperf.collect.counters.cachegrind import check_geometry

    return check_geometry((folder / "cache.txt").read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n"))


def build(folder: Path) -> Any:
    from mlperf.collect.contraction.builds import parse_build

    return parse_build((folder / "build.txt").read_text(encoding="utf-8", errors="surrogateescape"))


def operations_of_a_job(folder: Path) -> Any:
    from mlperf.traces.ranks.jobs import analyse_job

    found = analyse_job(folder / "operations.csv", assume=("time(operation=forward-compute)=x0.5",))
    return found.measured_s, found.no_gaps_s, found.groups["saved_s"], found.assumptions["step_s"]


@functools.cache
def maker() -> dict[str, Any]:
    return runpy.run_path(str(seeds.REFERENCE / "models" / "make_models.py"))


@functools.cache
def sizes_of_kernels() -> Any:
    return maker()["sweep"]().rows(range(3))


def stored(name: str) -> Callable[[Path], Any]:
    """Read a model, show and write it, and ask it for what it was made for."""

    def read(folder: Path) -> Any:
        from mlperf import load_model, save_model
        from mlperf.models.storage.store import KINDS, read_model

        path = folder / f"{name}.json"
        model = read_model(path) if name in KINDS else load_model(path)
        repr(model)
        save_model(model, folder / "again.json")
        load_model(folder / "again.json")
        if name == "kernels":
            from mlperf.studies.kernels import predict_kernels

            return np.asarray(predict_kernels(model, sizes_of_kernels()).predicted_s)
        # Coefficients blown up by 150 digits overflow, as numbers do; nothing may come out that is no number.
        with np.errstate(over="ignore"):
            return maker()["said_by"](name, model)

    return read


MODELS_WITHOUT_BOUNDS = ("servers", "step-parts")  # where rows are too few to leave any out, bounds are NaN


def model_file(name: str, folder: str = "models") -> Callable[[], bytes]:
    return functools.partial(seeds.model, name, folder)


def weight_of(model: str) -> float:
    """The model of a campaign takes seconds."""
    return 0.05 if model == "system" else 2.0


def table_of_today(name: str) -> Callable[[Path], Any]:
    """Read a model of a table, write and read it again, and predict a few rows."""

    def read(folder: Path) -> Any:
        from mlperf import load_model, save_model
        from mlperf.planning.table_prediction import predict_rows

        model = load_model(folder / f"{name}.json", "table")
        save_model(model, folder / "again.json")
        load_model(folder / "again.json")
        rows = pd.DataFrame({"n": [10.0, 300.0], "device": ["a", "b"], "lot": ["lot1", "lot2"]})
        with np.errstate(over="ignore"):
            return predict_rows(model, rows).predicted

    return read


def quality_of_today(folder: Path) -> Any:
    from mlperf import load_model

    return np.asarray(load_model(folder / "quality_nodes.json", "mlperf-quality").epochs([8.0, 20.0], [1.2, 1.8], 4.0))


def part(home: str) -> Callable[[Path], Any]:
    """Read a part of a model as the whole would."""

    def read(folder: Path) -> Any:
        from mlperf.core.documents import file_text
        from mlperf.models.registry import load_class
        from mlperf.models.storage.document import document_from_json
        from mlperf.models.storage.store import as_document_error

        document = document_from_json(file_text(folder / "part.json"))
        with as_document_error("system", "$"):
            found = load_class(home).from_dict(document, "$")
        return len(str(found.to_dict()))

    return read


PARTS = {"runs": "mlperf.training.run_model:RunModel", "characteristics": "mlperf.training.characteristics.stored:Characteristics"}
MODELS = tuple(sorted(path.name.partition(".")[0] for path in (seeds.REFERENCE / "models").glob("*.xz")))
"""Names of the files of every kind; another test holds them to the registry."""


def recorded_messages(folder: Path) -> Any:
    """What two ranks recorded, matched and replayed."""
    from mlperf.traces.readers.registry import read_trace

    table = read_trace(folder, "recording", drop_unmatched=True)
    return table.start_ns, table.duration_ns, table.size_bytes, len(table.strings), len(table.notes)


def trace_of(name: str) -> Callable[[Path], Any]:
    """Read a trace, count what is wrong with it, and replay it on the paper's network."""

    def read(folder: Path) -> Any:
        from mlperf.traces.events.validation import check_trace
        from mlperf.traces.readers.registry import read_trace
        from mlperf.traces.whatif.load import load_run

        table = read_trace(folder / name, drop_unmatched=True)
        found = check_trace(table)
        run = load_run(table, "perwiz-myrinet")
        return found.span_s, found.kinds["time_s"], run.total_ns, run.start_ns, run.end_ns

    return read


def profiled_steps(folder: Path) -> Any:
    """A profiler's file, its recording as one step, and its rank judged."""
    from mlperf.traces.ranks.profiled.analysis import analyse_ranks
    from mlperf.traces.readers.chrome.job import read_job
    from mlperf.traces.timeline.decomposition import decompose
    from mlperf.traces.timeline.steps import steps_of_ranks

    table = read_job([folder / "rank_0.json"])
    found = decompose(table, steps_of_ranks(table, whole=True)[0])
    return found.steps["step_s"], found.steps["cpu_s"], analyse_ranks(table).replay_error_s


def execution_trace(folder: Path) -> Any:
    from mlperf.traces.readers.registry import read_trace

    table = read_trace(folder / "nodes.json", "chakra", drop_unmatched=True)
    return table.start_ns, table.duration_ns


def trace_mapping(folder: Path) -> Any:
    """Which events are which component, and the runs' keys."""
    from mlperf.traces.to_table import read_keys, read_mapping

    return len(read_mapping(folder / "m.toml").components), len(read_keys(folder / "keys.csv"))


def assumption(folder: Path) -> Any:
    """A change as users write it."""
    from mlperf.systems.loggps.presets import find_preset
    from mlperf.traces.replay.timing import Timing
    from mlperf.traces.whatif.grammar import read_edit

    preset = find_preset("perwiz-myrinet")
    text = (folder / "change.txt").read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    return read_edit(text, Timing(preset, preset.parameters())).factor


def measured_network(folder: Path) -> Any:
    """Costs of a few messages over a measured network."""
    from mlperf.systems.loggps.costs import message_costs
    from mlperf.traces.replay.network_file import read_network

    preset, parameters = read_network(folder / "network.toml")
    costs = message_costs(preset, parameters, np.array([1, 1000, 10**6]))
    return costs.send, costs.recv, costs.off


READERS: tuple[Reader, ...] = (
    Reader("network", one("cnn.toml", seeds.NETWORK), read_cnn, weight=2),
    Reader("machine", one("machine.toml", seeds.MACHINE), read_machine),
    Reader("job", one("job.toml", seeds.JOB), read_job),
    Reader("constants", one("constants.toml", seeds.CONSTANTS), constants),
    Reader("prices", one("prices.toml", seeds.PRICES), prices),
    Reader("run", one("run.toml", seeds.RUN), run_of_a_job),
    Reader("calibrated tables", lambda: seeds.CALIBRATED, calibrated_pair, weight=0.5, may_be_missing=True, endless=True),
    Reader("steps of a system", one("steps.csv", seeds.STEPS), steps_of_a_system, weight=0.5),
    Reader("synchronous runs", one("runs.csv", seeds.synchronous_runs), synchronous_runs, weight=0.5),
    Reader("speeds of servers", one("speeds.csv", seeds.SPEEDS), speeds_of_servers, weight=0.5),
    Reader("ONNX network", one("net.onnx", seeds.network_graph), read_onnx, weight=2),
    Reader("recorded messages", seeds.recorded_messages, recorded_messages),
    Reader("profiler's trace", one("rank_0.json", seeds.PROFILED), profiled_steps),
    Reader("XLA's trace", one("rank_0.json", seeds.XLA_PROFILED), profiled_steps, weight=0.5),
    Reader("execution trace", one("nodes.json", seeds.EXECUTION), execution_trace, weight=0.5),
    Reader("components of a trace", lambda: seeds.TRACE_MAPPING, trace_mapping, weight=0.5),
    Reader("ALOG", one("run.alog", lambda: seeds.trace("alog")), trace_of("run.alog")),
    Reader("ALOG of others", one("run.alog", seeds.ALOG), trace_of("run.alog")),
    Reader("GOAL", one("run.goal", lambda: seeds.trace("goal")), trace_of("run.goal")),
    Reader("time-independent trace", one("run.ti", seeds.TIME_INDEPENDENT), trace_of("run.ti")),
    Reader("trace as CSV", one("run.csv", lambda: seeds.trace("csv")), trace_of("run.csv")),
    Reader("stored trace", one("run.npz", lambda: seeds.trace("store")), trace_of("run.npz")),
    *(
        Reader(f"recorder, {name}", one(name, content), recordings.events_by(f"{SYSTEM}.{home}", name), weight=0.5)
        for name, content, home in (
            ("perf.txt", recordings.PERF, "perf_script:read_perf_script"),
            ("calls.strace", recordings.STRACE, "strace:read_strace"),
            ("run.wprof", recordings.WPROF, "wprof:read_wprof"),
            ("file.pcap", recordings.capture, "pcap:read_pcap"),
            ("file.pcapng", recordings.capture_in_blocks, "pcap:read_pcap"),
            ("vmstat.txt", recordings.VMSTAT, "sysstat:read_vmstat"),
            ("mpstat.txt", recordings.MPSTAT, "sysstat:read_mpstat"),
            ("mpstat.json", recordings.MPSTAT_JSON, "sysstat:read_mpstat"),
            ("gpu.nvprof", recordings.NVPROF, "nvprof_csv:read_nvprof"),
            ("gpu.csv", recordings.NSYS_STATS, "nsys_stats:read_nsys_stats"),
            ("gpu.rocprof", recordings.ROCPROF, "rocprof:read_rocprof"),
            ("report.sqlite", recordings.nsight, "nsys_sqlite:read_nsys"),
            ("smi.csv", recordings.SMI, "nvidia_smi:read_nvidia_smi"),
            ("counts.txt", recordings.EVENT_COUNTS, "event_counts:read_event_counts"),
        )
    ),
    Reader("recording of a run", recordings.recording, recordings.advice, may_be_missing=True),
    Reader("counts of perf", one("counts.txt", recordings.COUNTS), recordings.read_counts, weight=0.5),
    Reader("communication matrix", one("matrix.txt", recordings.MATRIX), recordings.matrix_and_ring, weight=0.5),
    Reader("protocol of faults", one("protocol.toml", recordings.PROTOCOL), recordings.fault_protocol, weight=0.5),
    Reader("protocol of PyTorch's faults", one("protocol.toml", recordings.TORCH_PROTOCOL), recordings.torch_protocol, weight=0.5),
    Reader("protocol of steps on a GPU", one("protocol.toml", recordings.GPU_PROTOCOL), recordings.gpu_protocol, weight=0.5),
    Reader("protocol of case studies", one("protocol.toml", recordings.CASE_PROTOCOL), recordings.case_protocol, weight=0.5),
    Reader("processor time of threads", one("tasks.txt", recordings.TASKS), recordings.task_times, weight=0.5),
    Reader("TraceML's summary", one("final_summary.json", recordings.TRACEML), recordings.traceml, weight=0.5),
    Reader("times of runs", one("times.csv", "run,wall_s\n1,2.5\n2,2.75\n3,2.25\n"), recordings.measured_times, weight=0.5),
    Reader("keywords of swarms", one("keywords.toml", recordings.KEYWORDS), recordings.keywords, weight=0.5),
    Reader("links", one("links.txt", recordings.LINKS), recordings.best_of_links, weight=0.5),
    Reader("option, assumption", one("change.txt", "compute(site=solve.c:41)*0.5"), assumption),
    Reader("option, balance", one("change.txt", "balance(compute, region=PRGN, step=0:2)"), assumption, weight=0.5),
    Reader("option, latency", one("change.txt", "latency=5us"), assumption, weight=0.5),
    Reader("measured network", one("network.toml", seeds.MEASURED_NETWORK), measured_network, weight=0.5),
    Reader("loop nest", one("nest.toml", seeds.NEST), static_source("nest.toml", {}), weight=2),
    Reader("C source", one("kernel.c", seeds.C_SOURCE), static_source("kernel.c", {"n": 20}), weight=2),
    Reader("listing", one("k.txt", seeds.LISTING), static_code("k.txt"), weight=2),
    Reader("assembler, AT&T", one("k.s", seeds.compiled("misc_a.s")), static_code("k.s")),
    Reader("object file", one("k.o", seeds.compiled("misc_a.o")), static_code("k.o"), weight=2),
    Reader("counter table", one("counters.csv", seeds.COUNTERS), counter_table, may_be_missing=True, endless=True),
    Reader("stream, windows", one("stream.csv", seeds.STREAM), stream_windows, may_be_missing=True),
    Reader("stream, replayed", one("stream.csv", seeds.STREAM), stream_replay, weight=0.5),
    Reader("cachegrind", one("cachegrind.1", seeds.SIMULATED), cachegrind, check=not_negative),
    Reader("perf stat", one("perf.txt", seeds.PERF), perf_stat, check=not_negative),
    Reader("images", one("images.npz", seeds.images), sample_file),
    Reader("run's threads", functools.cache(seeds.finished_run), run_threads, weight=2),
    Reader("run's records", functools.cache(seeds.running), running_records),
    Reader("campaign", seeds.campaign, campaign, may_be_missing=True),
    Reader("trainer's campaign", seeds.trainer_campaign, trainer_runs, may_be_missing=True),
    Reader("contractions", seeds.contractions, kernel_times, may_be_missing=True),
    Reader("table of the dictionary", one("sgemm.csv", seeds.products), dictionary_table, may_be_missing=True),
    Reader("any table", one("times.csv", seeds.times), any_table),
    Reader("any table, trained", one("times.csv", seeds.times), trained_table, weight=0.5),
    Reader("joined tables", functools.cache(seeds.joined_sides), joined),
    Reader("GPU campaign", gpu_run, gpu_import),
    Reader("Extra-P", one("experiment.json", lambda: json.dumps(seeds.EXTRA_P).encode()), extra_p),
    Reader("Extra-P with ids", one("experiment.json", lambda: json.dumps(seeds.EXTRA_P_IDS).encode()), extra_p),
    Reader("Extra-P in lines", one("experiment.json", seeds.EXTRA_P_LINES), extra_p),
    Reader("formula", one("formula.txt", "time ~ a * b + poly(c, 2) - 1 + I(log2(a)) / `b`"), formula, weight=2),
    Reader("terms", one("terms.txt", "m*n\nlog2(n)\n(m + 1)**2 / sqrt(n)\n-m + 3.5e2\n"), terms, weight=2),
    Reader("limits of open data", one("limits.toml", seeds.LIMITS), open_limits),
    Reader("limits of trainer", one("gates.toml", seeds.GATES), trainer_limits),
    Reader("option, counts", one("value.txt", "8,1:64:3"), option(counts)),
    Reader("option, window", one("value.txt", "103.5:172.5"), option(window), endless=True),
    Reader("option, factor", one("value.txt", "sum_gradient=0.25"), option(factors)),
    Reader("option, network", one("value.txt", "vgg16"), option(name_or_file)),
    Reader("option, terms", one("value.txt", "m*n, log2(n), poly(m, 2)"), option(term_list)),
    Reader("configuration", lambda: {"predict.toml": seeds.CONFIG, "model.json": b"{}"}, configuration, ("model.json",), weight=2),
    Reader("cache", one("cache.txt", "l1=32K/64/8"), cache_level),
    Reader("cache of cachegrind", one("cache.txt", "32768,8,64"), cache_geometry),
    Reader("operations of a job", one("operations.csv", seeds.OPERATIONS), operations_of_a_job, weight=0.5),
    Reader("build", one("build.txt", "fast=gcc -O2 -msse3"), build),
    *(Reader(f"model, {name}", one(f"{name}.json", model_file(name)), stored(name), weight=weight_of(name), endless=True,
             may_be_missing=name in MODELS_WITHOUT_BOUNDS)
      for name in MODELS),
    *(Reader(f"model of today, {name}", one(f"{name}.json", model_file(name, "model_parts")), table_of_today(name), endless=True)
      for name in ("table_grouped", "table_chosen")),
    Reader("model of today, quality", one("quality_nodes.json", model_file("quality_nodes", "model_parts")), quality_of_today),
    *(Reader(f"model's {name}", one("part.json", model_file(name, "model_parts")), part(home)) for name, home in PARTS.items()),
    Reader("gaps between calls", one("part.json", seeds.GAPS), part("mlperf.training.gradient.call_gaps:CallGaps"), weight=0.5),
    Reader("model's launches", one("part.json", seeds.LAUNCHES), part("mlperf.training.gradient.launches:Launches"), weight=0.5),
    Reader("spread of costs", one("part.json", seeds.SPREAD), part("mlperf.training.systems.cost_spread:CostSpread"), weight=0.5),
    Reader("equal costs", one("part.json", seeds.EQUAL_COSTS), part("mlperf.training.systems.equal_costs:EqualCosts"), weight=0.5),
    Reader("model's machine", one("part.json", seeds.MEASURED_ON), part("mlperf.training.measured_on:MeasuredOn"), weight=0.5),
)  # fmt: skip
