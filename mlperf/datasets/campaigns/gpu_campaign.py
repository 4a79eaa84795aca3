"""Import of a GPU campaign: one folder a run, each run a round, into a campaign of the data dictionary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.documents import read_json
from mlperf.core.errors import DataError, UsageError
from mlperf.core.files import write_text_whole
from mlperf.core.json_fields import Fields
from mlperf.core.places import make_folder
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.gpu_tables import FILES, ONE_THREAD, OPERATIONS, kernel_rows, sgemm_rows, step_rows, update_rows
from mlperf.datasets.campaigns.write import write_table
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.reading.read import read_table
from mlperf.specs import write_cnn
from mlperf.specs.network.cnn import CnnSpec

RUN_HINT = (
    "A folder of a GPU campaign holds meta.json (written last), cnns.json and "
    + ", ".join(f"{file.name}.csv" for file in FILES)
    + "."
)

POOLED = 2
"""Width of a pool behind a layer that has one."""


@dataclass(frozen=True, slots=True, eq=False)
class Imported(Shown):
    """What an import wrote.

    Attributes
    ----------
    path : Path
        The new campaign's folder.
    device : str
        Model of the device that was measured.
    n_rounds : int
        Runs that were joined.
    n_cnns : int
        Networks.
    n_rows : Mapping[str, int]
        Rows of each table.
    left_out : Mapping[str, int]
        Rows of the source that have no place in the tables, by reason.
    """

    path: Path
    device: str
    n_rounds: int
    n_cnns: int
    n_rows: Mapping[str, int]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class GpuRun:
    """One folder: its tables by name, networks by name, and meta.json."""

    path: Path
    tables: Mapping[str, pd.DataFrame]
    cnns: Mapping[str, CnnSpec]
    meta: Mapping[str, Any]


def import_gpu_campaign(folders: Sequence[Path | str], out: Path | str, *, gz: bool = False, force: bool = False) -> Imported:
    """Convert the output of a GPU campaign.

    Kernel times are those of event pairs in place; ``cpu_s`` of products and steps comes from captured graphs, without the
    gaps between launches, and ``wall_s`` from the stream. Neither load nor a reference kernel is logged there: both are 0.

    Parameters
    ----------
    folders : sequence of paths
        One folder a run; several runs become rounds 1, 2, ... in the order given.
    out : path
        Folder of the new campaign.
    gz : bool
        Write ``.csv.gz`` in place of ``.csv``.
    force : bool
        Overwrite tables that are there already.

    Raises
    ------
    DataError
        A file is missing or wrong, or the runs are not of one device and one set of networks.
    UsageError
        No folder is given, or ``out`` is not empty.
    """
    if not folders:
        raise UsageError("got no folder, expected one for each run of the campaign")
    check_empty(Path(out), force=force)
    runs = [_read_gpu_run(Path(folder)) for folder in folders]
    for run in runs[1:]:
        check_same(runs[0], run)
    frames = campaign_tables(runs)
    specifications = make_folder(make_folder(out) / "cnns")
    for name, frame in frames.items():
        write_table(frame, Path(out) / f"{name}.csv{'.gz' if gz else ''}", name)
    for cnn in runs[0].cnns.values():
        write_cnn(cnn, specifications / f"{cnn.name}.toml")
    write_text_whole(Path(out) / "host.json", json.dumps(host_facts(runs), indent=1, sort_keys=True) + "\n")
    return Imported(
        path=Path(out),
        device=str(runs[0].meta["device"]),
        n_rounds=len(runs),
        n_cnns=len(runs[0].cnns),
        n_rows={name: len(frame) for name, frame in frames.items()},
        left_out=left_out(runs),
    )


def check_empty(out: Path, *, force: bool) -> None:
    """Refuse to write into a folder that holds something.

    Raises
    ------
    UsageError
        It does, and ``force`` was not given.
    """
    if not force and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            "got a folder that holds files, expected an empty or a new one",
            place=str(out),
            hint="Name a new folder, or say force=True (--force) to overwrite the tables in it.",
        )


def _read_gpu_run(folder: Path) -> GpuRun:
    """Read one folder strictly; DataError: a file is missing or wrong."""
    meta = read_json(folder / "meta.json", dict, RUN_HINT)
    if "device" not in meta:
        raise DataError("has no 'device'", place=str(folder / "meta.json"), hint=RUN_HINT)
    entries = read_json(folder / "cnns.json", list, RUN_HINT)
    cnns = {cnn.name: cnn for cnn in (_sprint_cnn(entry, f"{folder / 'cnns.json'}: $[{n}]") for n, entry in enumerate(entries))}
    tables = {file.name: read_table(folder / f"{file.name}.csv", file, duplicates="keep") for file in FILES}
    for name, table in tables.items():
        unknown = sorted(set(table.get("cnn", ())) - set(cnns))
        if unknown:
            raise DataError(
                f"got {unknown[0]!r}, expected a network of cnns.json", place=f"{folder / name}.csv, column cnn", hint=RUN_HINT
            )
    return GpuRun(folder, tables, cnns, meta)


def _sprint_cnn(entry: Any, place: str) -> CnnSpec:
    """A network of cnns.json: input size x0, maps m, pools p, L_c convolutions of 3 x 3; what else it says is not needed."""
    fields = Fields(entry, place)
    name, size, n_conv = fields.text("name"), fields.integer("x0", lower=1), fields.integer("Lc")
    pools = [number for number, pool in enumerate(fields.integers("p"), start=1) if pool == POOLED]
    return CnnSpec.from_sprint(name, size, fields.integers("m", lower=1), pools, n_conv)


def check_same(first: GpuRun, other: GpuRun) -> None:
    """Check that two runs measured the same networks on the same kind of device.

    Raises
    ------
    DataError
        They did not.
    """
    if other.meta["device"] != first.meta["device"]:
        got = f"got device {other.meta['device']!r}, expected {first.meta['device']!r} as in {first.path}"
        raise DataError(got, place=str(other.path / "meta.json"), hint="Import the devices as campaigns of their own.")
    if other.cnns != first.cnns:
        hint = "Import them as campaigns of their own."
        raise DataError(f"got other networks than {first.path / 'cnns.json'}", place=str(other.path / "cnns.json"), hint=hint)


def campaign_tables(runs: Sequence[GpuRun]) -> dict[str, pd.DataFrame]:
    """Tables of the dictionary over all runs; ``sequence`` counts on from table to table and from run to run."""
    parts: dict[str, list[pd.DataFrame]] = {}
    sequence = 0
    for number, run in enumerate(runs, start=1):
        for name, frame in run_tables(run).items():
            order = range(sequence, sequence + len(frame))
            parts.setdefault(name, []).append(frame.assign(round=number, sequence=order, load=0.0, reference_s=0.0))
            sequence += len(frame)
    return {name: pd.concat(frames, ignore_index=True)[list(TABLES[name].names)] for name, frames in parts.items()}


def run_tables(run: GpuRun) -> dict[str, pd.DataFrame]:
    """Tables of one run, in the order in which it measured."""
    unit = "cpu" if run.meta["device"] == "cpu" else "cuda"
    return {
        "sgemm": sgemm_rows(run.tables["sgemm"]),
        "kernels": kernel_rows(run.tables["cnn_explicit"], run.tables["cnn_library"], run.cnns, unit),
        "steps": step_rows(run.tables["cnn_whole"], unit),
        "updates": update_rows(run.tables["copies_host"]),
    }


def left_out(runs: Sequence[GpuRun]) -> dict[str, int]:
    """Rows of the copies that no component of Algorithms 1 and 2 is measured by."""
    copies = pd.concat([run.tables["copies_host"] for run in runs])
    pageable = ~copies["op"].isin(list(OPERATIONS))
    return {
        "copies of pageable memory": int(pageable.sum()),
        "host operations on several threads": int((~pageable & (copies["threads"] != ONE_THREAD)).sum()),
    }


def host_facts(runs: Sequence[GpuRun]) -> dict[str, Any]:
    """Collect what host.json says of an imported campaign."""
    meta = runs[0].meta
    return {
        "machine": {key: meta[key] for key in ("device", "ncpu", "sm", "mem", "fp32_tflops", "copy_tb_s") if key in meta},
        "versions": {key: meta[key] for key in ("torch", "cuda", "cudnn") if meta.get(key) is not None},
        "protocol": {
            "imported_from": "gpu_campaign",
            "clock": "thread CPU clock"
            if meta["device"] == "cpu"
            else "device events; captured graphs for cpu_s of products and steps",
            "n_rounds": len(runs),
            "repeats_on_the_spot": 5,
            "arguments": [run.meta.get("argv", []) for run in runs],
        },
    }
