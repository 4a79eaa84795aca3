"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import settings

import mlperf
from mlperf.datasets import bundled_path, read_campaign, write_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from made_once import Once

pytest_plugins = (
    "calibrated_machines",
    "judged_runs",
    "made_once",
    "made_recordings",
    "recorded_run",
    "simulated_campaigns",
    "trained_runs",
    "writing_commands",
)
"""Fixtures of several rooms, in tests/plugins."""

OBJECTS_BETWEEN_COLLECTIONS = 50_000
gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)

# The same examples on every machine, and none that fails because loops were compiled or the machine was busy meanwhile;
# ``--hypothesis-profile=default`` draws others.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

REFERENCE = Path(__file__).parent / "reference"
ACCEPTANCE = Path(__file__).parent / "acceptance"
KEPT = ("alexnet", *(f"cnn{number:02}" for number in range(6)), *(f"res{number:02}" for number in range(4)))
N_SUBBATCHES = 3
SPREAD = ("tests/acceptance/test_open_data.py", "tests/models/inference/test_selective.py")
"""Files so slow that their tests go to the workers one by one; what they share is made once."""

TOGETHER = (
    ("tests/house/",),
    ("tests/report/paper/",),
    ("tests/acceptance/test_trainer_gates.py", "tests/training/gradient/test_gradient_accuracy.py"),
)
"""Folders and files that go to one worker: they share the parsed package, what is made of a campaign, or described networks."""

LARGEST_PRODUCT = 10**6
OPEN_DATA = ("shared_data", "open_sweep")
"""Fixtures that read the open data."""

# Tests that run in the background inherit an ignored SIGINT, and so would the programs they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class OwnFilesFirst(pytest.Dir):
    """A folder read from a place at which no other worker begins: what one has compiled, the others need not compile."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Files and folders, those before the worker's own at the end."""
        found = list(super().collect())
        worker = self.config.workerinput
        first = len(found) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        return found[first:] + found[:first]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir | None:
    """Folders as workers read them."""
    return OwnFilesFirst.from_parent(parent, path=path) if hasattr(parent.config, "workerinput") else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m data`` a file that names no fixture of the open data is not imported: of a thousand files some thirty do."""
    if config.option.markexpr != "data" or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if any(name in text for name in OPEN_DATA) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what reads the open data, so that ``-m data`` runs it alone, and begin with files that have slow tests.

    A worker that is left with a slow file at the end would let the others wait. Workers that collect in an order of their own tell
    of one.
    """
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
    slow = {item.path for item in items if item.get_closest_marker("slow") or "made_once" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: (item.path not in slow, item.path))


def pytest_collection_finish() -> None:
    """What was imported and collected stays: looking for garbage among it takes a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Spread folders over all cores where pytest-xdist is installed and no ``-n`` is given; files run in this process.

    Workers share the cores: with threads of their own for every product they would wait for one another half of the time. A sixth
    of the time they wait for what sleeps or writes, which one worker more than cores makes use of.
    """
    option = config.option
    # A worker comes by here too, and must not start workers of its own.
    free = getattr(option, "numprocesses", 0) is None and not hasattr(config, "workerinput")
    if free and not option.usepdb and not option.collectonly and not named_files(config.args):
        option.numprocesses, option.dist, option.loadscopereorder = usable_cores() + 1, "loadfile", False
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def usable_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of one file stay on one worker, which keeps what they share; those of `SPREAD` do not."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduler(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            shared = next((each[0] for each in TOGETHER if nodeid.startswith(each)), None)
            return shared or (nodeid if nodeid.startswith(SPREAD) else str(super()._split_scope(nodeid)))

    return Scheduler(config, log) if config.option.dist == "loadfile" else None


def named_files(arguments: list[str]) -> bool:
    """Whether only files are asked for, or single tests of them."""
    return all(Path(argument.partition("::")[0]).is_file() for argument in arguments)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the open data that the repository does not carry (``MLPERF_SHARED_DATA``)."""
    folder = os.environ.get("MLPERF_SHARED_DATA")
    if folder:
        if not Path(folder).is_dir():
            pytest.fail(f"MLPERF_SHARED_DATA names {folder!r}, which is no folder")
        return Path(folder)
    reason = "MLPERF_SHARED_DATA is not set: the open data are read in place and not part of the repository"
    if os.environ.get("MLPERF_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def reference() -> Any:
    """Read a stored reference table: ``reference("barrier.json")``."""

    def read(name: str) -> Any:
        return json.loads((REFERENCE / name).read_text(encoding="utf-8"))

    return read


@pytest.fixture(scope="session")
def acceptance() -> Any:
    """What is asked of a study: ``acceptance("kernels")`` reads the limits in tests/acceptance/kernels.toml."""

    def read(name: str) -> Any:
        return tomllib.loads((ACCEPTANCE / f"{name}.toml").read_text(encoding="utf-8"))

    return read


@pytest.fixture(scope="session")
def trainer_limits() -> Any:
    """What is asked of the equations by runs of the asynchronous trainer."""
    from mlperf.studies.trainer import read_trainer_limits

    return read_trainer_limits(ACCEPTANCE / "trainer.toml")


@pytest.fixture(scope="session")
def judgement_limits() -> Any:
    """What docs/explanation/judgement.md asks of the predictor."""
    from mlperf.studies.trainer import read_trainer_limits

    return read_trainer_limits(ACCEPTANCE / "judgement.toml")


@pytest.fixture(scope="session")
def small_campaign(tmp_path_factory: pytest.TempPathFactory, made_once: Once) -> Path:
    """Folder with a few plain, residual and well-known networks of the bundled campaign, and small products only."""
    folder: Path = made_once("small-campaign", lambda: write_small(tmp_path_factory.mktemp("campaigns") / "small"))
    return folder


def write_small(folder: Path) -> Path:
    """Copy a part of the bundled campaign."""
    name = "cpu-epyc"
    whole = read_campaign(name)
    shutil.copytree(bundled_path(name), folder)
    for file in (folder / "cnns").glob("*.toml"):
        if file.stem not in KEPT:
            file.unlink()
    products = whole.sgemm[["m", "n", "k"]].prod(axis=1)
    replace(folder, "sgemm", whole.sgemm[products <= LARGEST_PRODUCT])
    for table in ("kernels", "steps"):
        frame = getattr(whole, table)
        sizes = frame.groupby("cnn")["subbatch_size"].rank(method="dense")
        replace(folder, table, frame[frame["cnn"].isin(KEPT) & (sizes <= N_SUBBATCHES)])
    return folder


def replace(folder: Path, table: str, rows: pd.DataFrame) -> None:
    """Write some rows of a table in the place of all."""
    for stored in folder.glob(f"{table}.csv*"):
        stored.unlink()
    write_table(rows.reset_index(drop=True), folder / f"{table}.csv", table)


@pytest.fixture(scope="session")
def small_model(small_campaign: Path, made_once: Once) -> Any:
    """A model of the small campaign, ResNet-like ``res03`` and ``cnn05`` held out."""

    def trained() -> Any:
        model = mlperf.train(small_campaign, leave_out=("cnn05", "res03"), n_folds=2, seed=1)
        # What a file of it holds is worked out once, not by everyone who saves it.
        model.to_dict()
        return model

    return made_once("small-model", trained)


@pytest.fixture(scope="session")
def small_model_file(small_model: Any, tmp_path_factory: pytest.TempPathFactory, made_once: Once) -> Path:
    """File of the small model, to be read alone."""

    def written() -> Path:
        path = tmp_path_factory.mktemp("models") / "model.json"
        mlperf.save_model(small_model, path)
        return path

    path: Path = made_once("small-model-file", written)
    return path


@pytest.fixture(scope="session")
def open_sweep(shared_data: Path) -> Any:
    """Times of the open sweep of contraction kernels."""
    from mlperf.studies.kernels import read_kernel_times

    return read_kernel_times(shared_data / "simd_tensor")


@pytest.fixture(scope="session")
def short_demo() -> Callable[[Path], Any]:
    """``short_demo(campaign)``: the demo with few folds of networks and a small search."""
    from mlperf.studies import demo

    def run(campaign: Path) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "N_FOLDS", 2)
            patch.setattr(demo, "SUBBATCH_SIZES", range(3, 6))
            return demo.run_demo(campaign)

    return run


@pytest.fixture(scope="session")
def shown_demo(small_campaign: Path, short_demo: Callable[[Path], Any], made_once: Once) -> Any:
    """The demo on the small campaign, made short."""
    return made_once("demo", lambda: short_demo(small_campaign))
