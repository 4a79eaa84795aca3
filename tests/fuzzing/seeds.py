"""The small valid inputs that the damage begins from: name inside a folder to content."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from mlperf.collect.trainer.ledger import GPU_RECORD, GPU_TIMES, UPDATE_RECORD, UPDATE_TIMES, USE_RECORD
from mlperf.datasets.campaigns.bundled import HOME

REFERENCE = Path(__file__).parents[1] / "reference"
ASSEMBLY = REFERENCE / "assembly"
SHIPPED = Path(__file__).parents[2] / "mlperf" / "specs" / "data"
Files = Mapping[str, bytes]


def lines_of(path: Path) -> list[str]:
    """Lines of a file, gzipped or not."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8").splitlines(keepends=True)


def first_rows(path: Path, n_rows: int, keep: Callable[[dict[str, str]], bool] = lambda _: True) -> bytes:
    """Header and the first rows that are wanted, packed as the file was."""
    header, *rows = lines_of(path)
    names = header.strip().split(",")
    kept = [row for row in rows if keep(dict(zip(names, row.strip().split(","), strict=False)))][:n_rows]
    content = "".join([header, *kept]).encode()
    return gzip.compress(content, 1, mtime=0) if path.suffix == ".gz" else content


@cache
def campaign() -> Files:
    """One network of the bundled campaign, and a few of its products and updates."""
    folder, cnn = HOME / "cpu-epyc", "cnn00"
    found = {path.name: first_rows(path, 8) for path in folder.glob("[su][gp]*.csv.gz")}
    found |= {path.name: first_rows(path, 12, lambda row: row["cnn"] == cnn) for path in folder.glob("[ks][et]*.csv.gz")}
    return found | {
        f"cnns/{cnn}.toml": (folder / "cnns" / f"{cnn}.toml").read_bytes(),
        "host.json": (folder / "host.json").read_bytes(),
    }


def products() -> bytes:
    """Its table of isolated products, unpacked."""
    return gzip.decompress(campaign()["sgemm.csv.gz"])


def compiled(name: str) -> Callable[[], bytes]:
    """A stored output of a compiler."""
    return (ASSEMBLY / "gcc12_O2" / name).read_bytes


@cache
def trainer_campaign() -> Files:
    """Three runs of the asynchronous trainer."""
    folder = HOME / "asgd-delayed"
    names = ("runs.csv", "components.csv", "asgd/details.csv.gz", "asgd/histograms.csv.gz", "asgd/epochs.csv.gz")
    few = {name: first_rows(folder / name, 12, lambda row: int(row["run"]) <= 3) for name in names}
    return few | {name: (folder / name).read_bytes() for name in ("host.json", "cnns/digits.toml")}


def synchronous_runs() -> bytes:
    """Six rows of runs of synchronous training."""
    return first_rows(REFERENCE / "parallel" / "third" / "synchronous" / "runs" / "runs.csv", 6)


@cache
def contractions() -> Files:
    """A few kernels of the bundled contractions."""
    folder = HOME / "contraction-epyc"
    few = {name: first_rows(folder / name, 10) for name in ("times.csv.gz", "cachegrind.csv.gz", "swc-o.csv.gz")}
    return few | {"host.json": (folder / "host.json").read_bytes()}


def csv_text(columns: Mapping[str, object]) -> bytes:
    """Columns of equal length as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(list(values) for values in columns.values()), strict=True))  # type: ignore[call-overload]
    return stream.getvalue().encode()


@cache
def times() -> bytes:
    """Times of a made-up kernel on two devices."""
    rng = np.random.default_rng(1)
    m, n = 2 ** rng.integers(3, 9, 40), rng.integers(3, 400, 40)
    seconds = (1e-5 + 2e-9 * m * n) * np.exp(rng.normal(0, 0.05, 40))
    return csv_text({"m": m, "n": n, "device": ["a", "b"] * 20, "time_s": [f"{each:.6g}" for each in seconds]})


def joined_sides() -> Files:
    """Times and a feature of each kernel."""
    kernels = ["k1", "k2", "k3"]
    return {
        "times.csv": csv_text({"kernel": kernels, "time_s": [0.1, 0.2, 0.4]}),
        "features.csv": csv_text({"kernel": kernels, "n_loops": [1, 2, 3]}),
    }


COUNTERS = csv_text({"kernel": ["a", "b"], "exit_code": [0, 0], "cg_Ir": [1000, 2000], "cg_Dr": [300, 500], "cg_Dw": [100, 90],
                     "cg_D1mr": [30, 3], "cg_D1mw": [10, 1], "ru_cpu_s": [0.1, 0.2]})  # fmt: skip
STREAM = csv_text(
    {
        "t_s": [round(0.25 * at, 2) for at in range(24)],
        "interval_s": [0.25] * 24,
        "performance": ["units"] * 24,
        "units": [3 * at for at in range(24)],
        "cpu_ns": [at * 10**8 for at in range(24)],
        "load1": [1.5] * 24,
    }
)
SIMULATED = """\
desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         32768 B, 64 B, fully associative
desc: LL cache:         524288 B, 64 B, direct-mapped
cmd: ./program
events: Ir Dr Dw
fl=/src/a.c
fn=work(int)
10 100 20 3
11 50 5 1
fi=/src/b.h
7 10 1
fn=main
0 9 2 2
summary: 169 28 6
"""
PERF = """\
# started on Sat Nov 21 2026

1234567;;instructions:u;2000000;50.00;;
<not supported>;;cycles:u;0;100.00;;
12,50;msec;task-clock:u;12500000;100.00;0.9;CPUs utilized
17;;page-faults:u;12500000;100.00;;
"""
NEST = """\
name = "matmul"
operations = 2
[sizes]
n = 100
[[loops]]
name = "i"
extent = "n"
[[loops]]
name = "j"
start = 1
stop = "n-1"
step = 2
[[arrays]]
name = "a"
type = "float"
shape = ["n", "n"]
[[arrays]]
name = "b"
element_size = 8
shape = ["n"]
layout = "row"
[[references]]
array = "a"
subscripts = ["i", "j+1"]
access = "update"
[[references]]
array = "b"
subscripts = ["2*i+1"]
depth = 1
"""
C_SOURCE = """\
#define K 4
typedef float real;
void kernel(int n, real a[n][n], real *b, const double c[100]) {
  for (int i = 0; i < n; i++) {
    b[i] = 0;
    for (int j = 1; j < K * n - 1; j += 2)
      a[i][j] += b[j] * c[i + 1] + 2.0f;
  }
}
"""
LISTING = """\
k.o:     file format elf64-x86-64

Disassembly of section .text:

0000000000000050 <f>:
  50:\t01 d8                \tadd    %ebx,%eax
  52:\tff c9                \tdec    %ecx
  54:\t0f 1f 40 00          \tnopl   0x0(%rax)
  58:\t75 f6                \tjne    50 <f>
  5a:\tc3                   \tret

0000000000000060 <g>:
  60:\tc5 f4 58 c2          \tvaddps %ymm2,%ymm1,%ymm0
  64:\tff 24 c5 00 00 00 00 \tjmp    *0x0(,%rax,8)
\t\t\t67: R_X86_64_32S\t.rodata
  6b:\te8 00 00 00 00       \tcall   70 <g+0x10>
"""
MEASURED_ON = b'{"campaign": "c", "processor": "AMD EPYC", "caches": "L1d 48 KiB", "engine": "numpy", "build": "openblas Haswell"}'
LAUNCHES = b'{"call_s": 2e-06, "start_s": 0.00065, "launch_s": 7e-05}'
SPREAD = b'{"covariance": [2e-06, -3e-07, -3e-07, 4e-08], "leverage": [0.125]}'
EQUAL_COSTS = b'{"costs": [[2e-06, 0.0, 3e-3], [2e-06, 4e-3, 0.0]], "part": [0, 0]}'
GAPS = b'{"layer_s": 8.8e-06, "autograd_s": -7.5e-05}'
MACHINE = (SHIPPED / "machines" / "kfc.toml").read_bytes()
JOB = b"dataset_size = 1281167\nn_nodes = 8\nsubbatch_size = 4\nminibatch = [100.0, 172.5]\nepochs = 90\n"
CONSTANTS = (REFERENCE / "partition" / "cluster.toml").read_bytes()
PRICES = b'currency = "EUR"\nper_kwh = 0.3\n[machines.kfc]\nper_node_hour = 2.5\n[machines."big one"]\nper_gpu_hour = 3\n'
RUN = b'startup_s = "3min"\ncheckpoint_s = 20\ncheckpoint_every_s = "optimal"\nnode_mtbf_s = "60d"\n'
CALIBRATED = {
    "predicted.csv": b"job,time_s\n" + b"".join(b"j%d,%d\n" % (number, number + 5) for number in range(6)),
    "measured.csv": b"job,time_s\n" + b"".join(b"j%d,%d.5\n" % (number, number + 5) for number in range(6)),
}
STEPS = b"n_nodes,n_gpus_per_node,subbatch_size,device,step_s\n" + b"".join(
    b"%d,4,%d,%s,0.%d\n" % (nodes, size, device, 100 + 3 * size + 9 * (nodes > 1))
    for nodes in (1, 2, 4)
    for size in (4, 16)
    for device in (b"a", b"b")
)
SPEEDS = b"n_workers,updates_per_s\n1,9.8\n2,19.1\n4,36.2\n8,52.5\n"
CONFIG = (
    b'nodes = "1,2"\nsubbatch = 4\nclosed = "phases"\nlevel = 0.9\n[predict]\nwhat-if = ["sum_gradient=0.5"]\niterations = 500\n'
)
NETWORK = b"""\
name = "tiny"
input_maps = 3
input_size = 28
layers = [
 { name = "c1", kind = "conv", n_maps = 8, filter_size = 5, stride = 2, padding = 1 }, { name = "r1", kind = "activation" },
 { name = "p1", kind = "pool", filter_size = 2 }, { name = "n1", kind = "batch_norm" },
 { name = "s1", kind = "add", inputs = ["n1", "p1"] },
 { name = "f", kind = "fc", n_maps = 10 }, { name = "s", kind = "softmax" },
]
"""
LIMITS = b'[A1."ratio: MAPE"]\nat_most = { V100 = 0.07, T4 = "WLS: MAPE" }\nat_least = { V100 = 0.0 }\n'
GATES = b"[network_left_out]\nepoch_s = 0.02\n[intervals]\nleast_coverage = 0.9\n[missed]\nepoch_s = 0.03\n"
EXTRA_P = {
    "parameters": ["nodes", "sub"],
    "measurements": {"train": {"time": [{"point": [2, 1], "values": [0.1, 0.3]}, {"point": [4, 1], "values": [0.2]}]}},
}
EXTRA_P_IDS = {
    "callpaths": [{"id": 1, "name": "sweep"}],
    "coordinates": [{"id": 1, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": 4}]}],
    "measurements": [{"callpath_id": 1, "coordinate_id": 1, "metric_id": 1, "value": 3.5}],
    "metrics": [{"id": 1, "name": "time"}],
    "parameters": [{"id": 1, "name": "nodes"}],
}
EXTRA_P_LINES = b'{"params": {"p": 2}, "callpath": "a", "metric": "time", "value": 3.5}\n{"params": {"p": 4}, "value": [1, 2]}\n'


def model(name: str, folder: str = "models") -> bytes:
    """A stored model file, or a part of one."""
    return lzma.decompress((REFERENCE / folder / f"{name}.json.xz").read_bytes())


def images() -> bytes:
    """Twelve images of 8 x 8 elements in three classes."""
    stream = io.BytesIO()
    np.savez(stream, images=np.arange(768, dtype=np.uint8).reshape(12, 8, 8), labels=np.arange(12) % 3)
    return stream.getvalue()


def job() -> dict[str, object]:
    """What one run of the trainer was to do."""
    return {
        "cnn": {}, "n_nodes": 1, "n_gpus_per_node": 2, "subbatch_size": 4, "seed": 0, "learning_rate": 0.1, "momentum": 0.9,
        "max_updates": 5, "max_samples": 0, "dataset_size": 100, "shift": 0.0, "scale": 0.0, "lockstep": False,
        "waits": {"compute_gradient": [0.01]}, "shards": "", "limit_s": 10.0,
    }  # fmt: skip


def finished_run() -> Files:
    """The records of a finished run: two workers and an update thread of one node, three iterations each."""
    worker = [(gpu, iteration) for gpu in (0, 1) for iteration in range(3)]
    gpu = {
        "node": [0] * 6,
        "gpu": [gpu for gpu, _ in worker],
        "iteration": [at for _, at in worker],
        "start_s": [0.1 * at for _, at in worker],
    }
    gpu |= {name: [0.01] * 6 for name in GPU_TIMES} | {"version": [0] * 6, "update": [at for _, at in worker]}
    updates = {"node": [0] * 3, "update": range(3), "start_s": [0.0, 0.1, 0.2]} | {name: [0.01] * 3 for name in UPDATE_TIMES}
    tables = {"gpu": gpu, "updates": updates | {"iteration_s": [0.1] * 3}}
    packed = {f"run-0001/{name}.csv.gz": gzip.compress(csv_text(table), 1, mtime=0) for name, table in tables.items()}
    return packed | {"run-0001/job.json": json.dumps(job()).encode(), "run-0001/end.json": b'[{"rank": 0}]'}


def running() -> Files:
    """The binary records of a run that goes on."""
    updates, gpu, use = (np.zeros(3, dtype) for dtype in (UPDATE_RECORD, GPU_RECORD, USE_RECORD))
    updates["start_s"] = gpu["start_s"] = [0.0, 0.1, 0.2]
    use["iteration"] = range(3)
    binary = {"update-0": updates, "gpu-0-0": gpu, "gpu-0-1": gpu, "use-0": use}
    said = {"job.json": json.dumps(job()).encode(), "rank-0.end": b'{"rank": 0}'}
    return said | {f"{name}.bin": records.tobytes() for name, records in binary.items()}


def network_graph() -> bytes:
    """A small ONNX network with most operators that have a layer."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def weights(name: str, *dims: int) -> object:
        return TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1], group=1),
        helper.make_node("BatchNormalization", ["c1", "s", "s", "s", "s"], ["n1"]),
        helper.make_node("Relu", ["n1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=0),
        helper.make_node("Add", ["p1", "p1"], ["a1"]),
        helper.make_node("Concat", ["a1", "p1"], ["k1"], axis=1),
        helper.make_node("Resize", ["k1", "", "", "sizes"], ["z1"], mode="nearest"),
        helper.make_node("ReduceMean", ["z1"], ["m1"], axes=[2, 3], keepdims=1),
        helper.make_node("Reshape", ["m1", "shape"], ["f1"]),
        helper.make_node("Gemm", ["f1", "w2", "b2"], ["g1"], transB=1),
        helper.make_node("Clip", ["g1", "low", "high"], ["l1"]),
        helper.make_node("Softmax", ["l1"], ["y"]),
    ]
    known = [weights("w1", 8, 3, 3, 3), weights("b1", 8), weights("s", 8), weights("w2", 10, 16), weights("b2", 10)]
    values = {"sizes": np.array([1, 16, 8, 8]), "shape": np.array([0, -1]), "low": np.float32(0.0), "high": np.float32(6.0)}
    known += [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ("b", 3, 8, 8)), ("y", None))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], known)
    return bytes(onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())


OPERATIONS = "step,rank,dp_rank,stage,operation,sequence,micro_batch,start_s,duration_s\n" + "".join(
    f"{step},{rank},{rank},0,forward-compute,0,0,0.0,{0.5 + 0.25 * rank}\n"
    f"{step},{rank},{rank},0,backward-compute,0,0,{0.5 + 0.25 * rank},0.5\n"
    f"{step},{rank},{rank},0,grads-reduce-scatter,0,,{1.0 + 0.25 * rank},{0.35 - 0.25 * rank}\n"
    for step in (4, 5)
    for rank in (0, 1)
)
"""A training job with two data-parallel ranks."""


def recorded_messages() -> dict[str, bytes]:
    """The files of two ranks that exchange two messages inside a region."""
    from mlperf.traces.recording.rank_writer import RankWriter

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rank in (0, 1):
            writer = RankWriter(folder, rank, 2)
            writer.members(0, (0, 1))
            writer.event(8, "solve", 1000, 9000, site=writer.site(0))
            writer.event(3, "MPI_Isend", 1100, 1200, peer=1 - rank, tag=1, comm=0, size=64, number=1)
            writer.event(4, "MPI_Irecv", 1300, 1400, peer=1 - rank, tag=1, comm=0, size=64, number=1)
            writer.event(5, "MPI_Waitall", 1500, 2500, number=1, count=2)
            writer.event(6, "MPI_Barrier", 3000, 3500, comm=0, number=1)
            writer.close(0)
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*.mlr"))}


MEASURED_NETWORK = (
    "[parameters]\n"
    + "".join(
        f"{name} = {value}\n"
        for name, value in (
            ("latency_s", 5e-6),
            ("overhead_s", 2e-6),
            ("recv_overhead_s", 3e-6),
            ("gap_s", 4e-6),
            ("gap_s_per_byte", 1e-9),
            ("send_s_per_byte", 1e-10),
            ("recv_s_per_byte", 2e-10),
            ("eager_limit_bytes", 4096),
        )
    )
    + "".join(
        f"[costs.{name}]\nconst_s = 9e-6\ns_per_byte = 1e-9\n"
        for name in ("eager_send", "eager_recv", "eager_off", "sync_send", "sync_recv", "sync_off")
    )
)


ALOG = """-1 0 0 0 0 0 Me
-3 0 0 2 0 0
-11 0 0 0 0 0
-13 0 1 2 0 0 red:boxes MPI_Sendrecv
-13 0 3 4 0 0 blue:boxes MPI_Recv
-13 0 5 6 0 0 green:gray MPI_Barrier
-10 0 0 20 0 0 PRGN_BEGIN
-10 0 0 21 0 0 PRGN_END
20 0 0 0 0 100
1 0 0 0 0 110
-101 0 0 1 0 112 7 800
-102 0 0 1 0 150 8 80
2 0 0 0 0 151.5
21 0 0 0 0 160
5 0 0 0 0 170
6 0 0 0 0 180
3 1 0 0 0 115
-102 1 0 0 0 140 7 800
4 1 0 0 0 141
-101 1 0 0 0 148 8 80
5 1 0 0 0 165
6 1 0 0 0 180
"""
TIME_INDEPENDENT = """0 init
0 compute 1e+03
0 send 1 4 10 2
0 bcast 7 1 6
1 init
1 recv 0 4 10 2
1 compute 50
1 bcast 7 1 6
1 barrier
0 barrier
0 finalize
"""


@cache
def trace(file_format: str) -> bytes:
    """A run of two ranks that exchange, post and wait, as one of our writers has it."""
    from mlperf.traces.events.kinds import Flag, Kind
    from mlperf.traces.events.table import event_table
    from mlperf.traces.writers.registry import WRITERS, export_trace

    table = event_table(
        8,
        strings=("MPI_Sendrecv", "MPI_Isend", "MPI_Wait", "MPI_Recv"),
        start_ns=[100, 100, 150, 150, 900, 950, 1000, 905],
        duration_ns=[60, 60, 50, 50, 10, 100, 30, 90],
        rank=[0, 0, 1, 1, 0, 0, 0, 1],
        kind=[Kind.SEND, Kind.RECV, Kind.SEND, Kind.RECV, Kind.ISEND, Kind.COMPUTE, Kind.WAIT, Kind.RECV],
        name=[0, 0, 0, 0, 1, -1, 2, 3],
        peer=[1, 1, 0, 0, 1, -1, -1, 0],
        tag=[1, 2, 2, 1, 3, -1, -1, 3],
        size_bytes=[800, 90_000, 90_000, 800, 7, 0, 0, 7],
        corr=[0, 0, 1, 1, 2, -1, 2, -1],
        flags=[Flag.PAIRED] * 4 + [0] * 4,
        comm=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{WRITERS[file_format][0]}"
        export_trace(table, path, file_format)
        return path.read_bytes()


XLA_PROFILED = json.dumps(
    {
        "displayTimeUnit": "ns",
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "/device:GPU:0"}},
            {"ph": "M", "name": "thread_name", "pid": 2, "tid": 1, "args": {"name": "Stream #13(Compute)"}},
            {"ph": "M", "name": "thread_name", "pid": 2, "tid": 5, "args": {"name": "Steps"}},
            {"ph": "X", "name": "fusion", "pid": 2, "tid": 1, "ts": 10.5, "dur": 6},
            {"ph": "X", "name": "ncclDevKernel_AllReduce", "pid": 2, "tid": 1, "ts": 17, "dur": 3},
            {"ph": "X", "name": "3", "pid": 2, "tid": 5, "ts": 10, "dur": 12},
        ],
    }
)  # fmt: skip
PROFILED = json.dumps(
    {
        "distributedInfo": {"rank": 0, "world_size": 1},
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "GPU 0"}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 9.5, "dur": 8,
             "args": {"Input Dims": [[2, 3], [3, 4]]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 10, "dur": 2.25,
             "args": {"correlation": 5}},
            {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 13.125, "dur": 6,
             "args": {"correlation": 5, "device": 0, "stream": 7}},
            {"ph": "B", "name": "outer", "pid": 1, "tid": 3, "ts": 1},
            {"ph": "E", "name": "outer", "pid": 1, "tid": 3, "ts": 30},
            {"ph": "i", "name": "mark", "pid": 1, "tid": 3, "ts": 12},
        ],
    }
)  # fmt: skip
EXECUTION = json.dumps(
    {
        "schema": "1.0.1",
        "nodes": [
            {"id": 1, "name": "a", "type": "COMP_NODE", "duration_micros": 5, "data_deps": []},
            {"id": 2, "name": "b", "type": "COMP_NODE", "duration_micros": 7, "data_deps": [1]},
        ],
    }
)
TRACE_MAPPING = {"m.toml": b'warm_up = 1\n[components.gemm]\nname = "sgemm"\n', "keys.csv": b"run,size\nr1,100\nr2,200\n"}
