"""Folders of a reader who has traces: of a message-passing program, of training ranks, of a job with two kinds of parallelism."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import sqlite3
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from mlperf.collect.trainer.launch import mpiexec_command
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.recording.build import LIBRARY, build_recorder, compiler
from mlperf.traces.recording.run import RecordRequest, record
from mlperf.traces.writers.registry import export_trace

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "reference" / "message_passing"
SOLVER = """
#include <mpi.h>
#include <unistd.h>
#include "mlperf_regions.h"
int main(int n_words, char **words) {
    int rank, size;
    char bytes[4000];
    MPI_Init(&n_words, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 12; step++) {
        MLPERF_REGION_BEGIN("PRGN");
        for (int other = 0; other < size - 1; other++) {
            if (rank == size - 1) {
                MPI_Send(bytes, 4000, MPI_CHAR, other, step, MPI_COMM_WORLD);
                MPI_Recv(bytes, 4000, MPI_CHAR, other, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (rank == other) {
                MPI_Recv(bytes, 4000, MPI_CHAR, size - 1, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                usleep(300 * (1 + rank));
                MPI_Send(bytes, 4000, MPI_CHAR, size - 1, step, MPI_COMM_WORLD);
            }
        }
        MLPERF_REGION_END("PRGN");
    }
    MPI_Finalize();
    return 0;
}
"""
PROGRAMS = ROOT / "examples" / "message_passing"
RING_STEPS, FEWER_STEPS = "N_STEPS, SIZE = 100, 200_000", "N_STEPS, SIZE = 10, 20_000"


NSIGHT_TABLES = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
  (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
"""


def block(page: str, language: str) -> str:
    """The first block of a page in a language: a file that its reader is told to make."""
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def message_passing(folder: Path) -> None:
    """The page's own table; a real run of four ranks as ALOG; networks that were measured."""
    (folder / "run.csv").write_text(block("message_passing.md", "csv"), encoding="utf-8")
    export_trace(read_trace(folder / "run.csv"), folder / "run.npz")
    made = make(folder / "recorded")
    recorded_program(made)
    export_trace(read_trace(made / "run"), folder / "run.alog")
    shutil.copy(folder / "run.alog", folder / "after.alog")
    shutil.copy(KEPT / "network-shared-memory.toml", folder / "network.toml")
    shutil.copy(KEPT / "network-tcp.toml", folder / "ethernet.toml")


def archive(folder: Path) -> None:
    """Two ranks in an archive of OTF2, as the library's own writer writes it."""
    import otf2

    with otf2.writer.open(str(folder / "written"), timer_resolution=10**9) as trace:
        definitions = trace.definitions
        node = definitions.system_tree_node("n", "c")
        for rank in range(2):
            group = definitions.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            writer = trace.event_writer_from_location(definitions.location("Master", group=group))
            writer.enter(100, definitions.region("solve"))
            writer.leave(900 + rank, definitions.region("solve"))
    for path in (folder / "written").iterdir():
        shutil.move(path, folder)


def recorded_program(folder: Path) -> None:
    """A program of MPI, and what the recorder wrote of it."""
    shutil.copytree(recorded().name, folder, dirs_exist_ok=True)


@cache
def recorded() -> tempfile.TemporaryDirectory[str]:
    """As `recorded_program`, run once."""
    made = tempfile.TemporaryDirectory(prefix="mlperf-reader-")
    folder = Path(made.name)
    mpi_programs(folder)
    command = (*mpiexec_command(None), "-n", "4", str(folder / "solver"))
    request = RecordRequest(command, folder / "run", recorder=folder / LIBRARY)
    record(request, stdout=subprocess.DEVNULL)
    return made


def mpi_programs(folder: Path) -> None:
    """Programs of MPI in C, whose last rank asks all others in turn, and in Python, and the recorder."""
    shutil.copytree(built().name, folder, dirs_exist_ok=True)
    ring = (PROGRAMS / "ring.py").read_text(encoding="utf-8")
    assert RING_STEPS in ring
    (folder / "program.py").write_text(ring.replace(RING_STEPS, FEWER_STEPS), encoding="utf-8")


@cache
def built() -> tempfile.TemporaryDirectory[str]:
    """The recorder and the program in C, compiled once."""
    made = tempfile.TemporaryDirectory(prefix="mlperf-reader-")
    folder = Path(made.name)
    build_recorder(folder)
    (folder / "solver.c").write_text(SOLVER, encoding="utf-8")
    subprocess.run([*compiler(), "-g", "-O2", f"-I{folder}", str(folder / "solver.c"), "-o", str(folder / "solver")], check=True)
    shutil.copy(folder / "solver", folder / "program")
    return made


def profiles(folder: Path) -> None:
    """Profiler files of two ranks, alone, in a folder, before and after a change, and of eight sub-batches."""
    from profiles import training_job

    host_us = [[40.0, 50.0, 45.0, 90.0 + late] for late in (0.0, 5.0, 2.0, 0.0, 1.0, 9.0)]
    job, _ = training_job(folder / "job", host_us)
    mark_steps(job / "rank_0.json")
    other, _ = training_job(folder / "other", host_us, compute_us=300.0)
    for path in sorted(job.iterdir()):
        pack(path, folder / f"{path.name}.gz")
        pack(path, make(folder / "traces") / f"{path.name}.gz")
    pack(job / "rank_0.json", folder / "before.json.gz")
    pack(other / "rank_0.json", folder / "after.json.gz")
    rows = ["run,batch"]
    for number, batch in enumerate((4, 8, 12, 16, 24, 32, 40, 48)):
        run, _ = training_job(folder / f"one{number}", [[40.0]] * 4, compute_us=20.0 * batch)
        pack(run / "rank_0.json", make(folder / "runs") / f"run{number}.json.gz")
        rows.append(f"run{number},{batch}")
    (folder / "runs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "components.toml").write_text(block("training_traces.md", "toml"), encoding="utf-8")
    nsight_files(folder)


def nsight_files(folder: Path) -> None:
    """Six steps with a kernel each, as ``nsys export`` and ``nsys stats`` write them."""
    database = sqlite3.connect(folder / "run.sqlite")
    database.executescript(NSIGHT_TABLES)
    rows = ["Start (ns),Duration (ns),CorrId,Bytes (MB),Device,Ctx,Strm,Name"]
    for number in range(6):
        at = 10_000 * number
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, NULL, 83886087)", (at, at + 9_000, f"train_step {number}"))
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 83886087, ?, 2)", (at + 100, at + 200, number))
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, 1, 1)", (at + 500, at + 6_500, number))
        rows.append(f"{at + 500},6000,{number},,NVIDIA H200 (0),1,7,gemm")
    database.commit()
    database.close()
    (folder / "run_cuda_gpu_trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def mark_steps(path: Path) -> None:
    """Two marks of a program's own in every step."""
    document = json.loads(path.read_text(encoding="utf-8"))
    steps = [each for each in document["traceEvents"] if each["name"].startswith("ProfilerStep")]
    for number, each in enumerate(steps):
        document["traceEvents"].append({**each, "name": f"train_step#{number}"})
    path.write_text(json.dumps(document), encoding="utf-8")


def operations(folder: Path) -> None:
    """Four steps of a job of two replicas and four stages; one worker takes longer."""
    with (folder / "operations.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(("step", "rank", "dp_rank", "stage", "operation", "sequence", "start_s", "duration_s"))
        for step in range(4):
            for rank in range(8):
                replica, stage = rank % 2, rank // 2
                for kind, base in (("forward-compute", 1.0), ("backward-compute", 2.0)):
                    late = 1.5 if (replica, stage) == (1, 3) else 1.0
                    table.writerow((step, rank, replica, stage, kind, 0, 10.0 * step, base * late * (1 + 0.01 * rank)))
    pack(folder / "operations.csv", folder / "operations.csv.gz")


def pack(path: Path, packed: Path) -> None:
    """Compress a file."""
    packed.write_bytes(gzip.compress(path.read_bytes()))


def make(folder: Path) -> Path:
    """A folder that is there."""
    folder.mkdir(exist_ok=True)
    return folder
