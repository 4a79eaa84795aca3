"""Whatever is done to an input, its reader refuses it in the package's own words or reads something plausible.

``MLPERF_FUZZ_CASES=20000 python -m pytest -n0 -rP tests/fuzzing`` runs so many cases in place of the usual ones and tells how they
ended; ``MLPERF_FUZZ_FIRST=7000000`` begins at another seed than 0. ``damaged(reader, seed)`` makes the files of a case again.
"""

from __future__ import annotations

import ast
import cProfile
import os
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError

from . import fuzzing
from .fuzzing import Verdict, damaged, judged
from .readers import READERS, Reader

pytestmark = pytest.mark.slow

N_CASES = int(os.environ.get("MLPERF_FUZZ_CASES", "1500"))
FIRST_SEED = int(os.environ.get("MLPERF_FUZZ_FIRST", "0"))
TOTAL_WEIGHT = sum(reader.weight for reader in READERS)
PACKAGE = Path(mlperf.__file__).parent
BY_NAME = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)

READING = re.compile(
    r"(read|load|parse|import|from|stored|recorded)_\w+|\w+_from_(dict|text|json|toml|fields|host)|find_(cnn|machine)"
)
"""Names of functions that read what others wrote."""

ELSEWHERE = {
    "cli/commands/": "commands around the readers",
    "collect/trainer/rank/": "runs inside the ranks, on what the trainer wrote a moment before",
    "collect/stream/": "reads /proc of a program that runs",
    "collect/protocol/": "reads /proc, /sys and the package's own tables while they grow",
}
"""Files that read what nobody else writes."""

NOT_FED = {
    "cli/recordings/given.py:read_given": "reads by read_recording or read_trace",
    "report/recordings/recorded.py:recorded_answer": "shows what was read",
    "report/recordings/recorded.py:recorded_sections": "shows what was read",
    "traces/whole_run/clock_readings.py:read_clocks": "reads the machine's clocks",
    "traces/whole_run/recorded.py:recorded_run": "counts what was read",
    "cli/traces/ranks.py:read_ranks": "reads by read_job, as every command about training ranks",
    "cli/traces/files.py:import_command": "reads by read_trace, as every command about traces",
    "traces/readers/otf2.py:read_otf2": "its archive is read by the format's own library",
    "cli/framework/systems.py:read_exchange": "reads by load_model, as a model of that kind",
    "collect/counters/perf_event.py:read_event": "reads what the kernel writes",
    "collect/servers/job.py:read_job": "reads what its own launcher writes",
    "collect/servers/plans.py:read_configurations": "reads by read_toml, as the protocols",
    "collect/synchronous/job.py:read_job": "reads what its own launcher writes",
    "datasets/campaigns/campaign.py:load_campaign": "takes the name of a bundled campaign",
    "datasets/open/open_data.py:read_open": "reads by read_typed_table, as the counter table, and renames",
    "datasets/reading/cells.py:parse_cell": "runs on damaged cells only",
    "datasets/reading/cells.py:parse_one_by_one": "runs on damaged cells only",
    "datasets/reading/source.py:read_standard_input": "the bytes go where those of a file go",
    "models/estimators/learning/learner_store.py:read_learner": "its archive is read by skops, which need not be installed",
    "models/estimators/local/grid_local.py:GridLocal.from_table": "fits",
    "models/estimators/stepwise/stepwise.py:StepwiseOLS.from_formula": "takes a formula, as parse_formula",
    "models/formula/terms.py:Terms.read_lenient": "takes a frame",
    "models/storage/store.py:Storable.from_dict": "a protocol",
    "models/uncertainty/intervals.py:Interval.from_dict": "no file holds an interval by itself",
    "planning/calibration/observed_rows.py:read_observed": "reads by read_any_table, and asks a model",
    "planning/systems/compare.py:read_runs": "reads by read_any_table, as the rows of a comparison",
    "specs/importers/torch/function.py:from_function": "calls the user's own program",
    "specs/importers/torch/tracing.py:from_torch": "takes a module of torch, which need not be installed",
    "studies/judgement/runs.py:read_judgement": "reads by read_runs, as the trainer's campaign, and compares with a plan",
    "studies/message_passing/protocol.py:read_message_protocol": "reads by read_toml what is part of the repository",
    "studies/other_devices.py:read_device_limits": "reads by read_toml what is part of the repository",
    "studies/parallel/protocol.py:read_protocol": "reads by read_toml what is part of the repository",
    "studies/parallel/synchronous_judgement.py:read_protocol": "reads by read_toml what is part of the repository",
    "traces/readers/chrome/reader.py:read_process_files": "reads each file as read_chrome does",
    "traces/recording/profile.py:read_profile": "reads by read_rank_files, as a recording",
    "systems/base/distributions.py:Distribution.from_counts": "takes an array",
    "systems/base/distributions.py:Distribution.from_sample": "takes an array",
}
"""Functions of such a name that no row of the table calls, with the reason."""


def n_cases(reader: Reader) -> int:
    """At least one."""
    return max(1, round(N_CASES * reader.weight / TOTAL_WEIGHT))


@BY_NAME
def test_the_valid_input_is_accepted(reader: Reader, tmp_path: Path) -> None:
    assert judged(reader, reader.files(), tmp_path) == Verdict("accepted")


@BY_NAME
def test_damaged_inputs_are_refused_or_read(reader: Reader, tmp_path: Path) -> None:
    counts, faults = Counter[str](), []
    for seed in range(FIRST_SEED, FIRST_SEED + n_cases(reader)):
        verdict = judged(reader, damaged(reader, seed), tmp_path / str(seed))
        counts[verdict.kind] += 1
        if verdict.is_fault:
            faults.append(f"seed {seed}: {verdict.kind}: {verdict.words}")
    print(f"{reader.name}: {dict(counts)}")  # noqa: T201 - the tally of a long run
    assert not faults, "\n".join(faults[:20])


def public_readers() -> set[str]:
    """Functions and methods of the package that read what others wrote, as ``file:qualified name``."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        scopes = [("", tree.body), *((f"{node.name}.", node.body) for node in tree.body if isinstance(node, ast.ClassDef))]
        found |= {
            f"{module}:{prefix}{node.name}"
            for prefix, body in scopes
            for node in body
            if isinstance(node, ast.FunctionDef) and READING.fullmatch(node.name)
        }
    return found


def called_on_valid_inputs(folder: Path) -> set[str]:
    """Functions that run while every reader reads its valid input."""
    calls = cProfile.Profile(subcalls=False, builtins=False)
    for place, reader in enumerate(READERS):
        fuzzing.write_files(reader.files(), folder / str(place))
        calls.enable()
        try:
            reader.read(folder / str(place))
        finally:
            calls.disable()
    ours = [entry.code for entry in calls.getstats() if entry.code.co_filename.startswith(str(PACKAGE))]
    return {f"{Path(code.co_filename).relative_to(PACKAGE).as_posix()}:{code.co_qualname}" for code in ours}


def test_no_reader_is_forgotten(tmp_path: Path) -> None:
    """A new function that reads is called by some row of the table, or stands in a list with the reason why not."""
    known = called_on_valid_inputs(tmp_path)
    public = public_readers()
    fed = {name for name in public if not name.startswith(tuple(ELSEWHERE))}
    forgotten = sorted(fed - known - set(NOT_FED))
    assert not forgotten, f"add a row to READERS, or a reason to NOT_FED: {forgotten}"
    stale = sorted(set(NOT_FED) & known | set(NOT_FED) - public)
    assert not stale, "take them from NOT_FED"


def crash(_: Path) -> Any:
    raise KeyError("x")


def hang(_: Path) -> Any:
    while True:
        pass


def hoard(_: Path) -> Any:
    return np.zeros(10**12)


def shout(_: Path) -> Any:
    for number in range(fuzzing.MOST_WARNINGS + 1):
        warnings.warn(str(number), stacklevel=1)


def refuse(_: Path) -> Any:
    raise DataError("no", place="x")


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (crash, "crash"),
        (hang, "hang"),
        (hoard, "crash"),
        (shout, "noise"),
        (refuse, "refused"),
        (lambda _: {"a": [1.0, float("inf")]}, "wrong"),
        (lambda _: 1.0, "accepted"),
    ],
)
def test_faults_are_seen(read: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "LIMIT_S", 0.2)
    assert judged(Reader("planted", lambda: {"x": b""}, read), {"x": b""}, tmp_path).kind == kind


def test_damage_depends_on_the_seed_alone() -> None:
    for reader in READERS[:10]:
        assert damaged(reader, 3) == damaged(reader, 3)
        assert len({str(sorted(damaged(reader, seed).items())) for seed in range(20)}) > 10
