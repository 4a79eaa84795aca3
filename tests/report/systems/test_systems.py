"""What people see of any system: the answer first, its own outputs, what was assumed, what takes most of the time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mlperf.cli.main import cli
from mlperf.core.errors import UsageError
from mlperf.report.text.results import command_schema

pytestmark = pytest.mark.slow

OWN = """
from dataclasses import dataclass
from mlperf.systems.base.system import Setting, Solution, SystemComponent, checked_run, checked_times

@dataclass(frozen=True)
class Plain:
    name: str = "plain"
    title: str = "one worker after the other"
    components: tuple = (
        SystemComponent("compute", "turn", "work", "a step", needed=True),
        SystemComponent("exchange", "turn", "collective", "handing on"),
        SystemComponent("telepathy", "turn", "work", "what nobody measures"),
    )
    settings: tuple = (Setting("pace", 1.0, "how fast", 0.0),)
    outputs: tuple = ("epoch_s", "mean_minibatch_size", "turn_s")

    def solve(self, times, run):
        times, run = checked_times(self, times), checked_run(self, run)
        compute = run["n_nodes"] * times["compute"] / run["pace"]
        parts = {"compute": compute, "exchange": 1e-3 * run["n_nodes"] + 0.0 * compute}
        turn = parts["compute"] + parts["exchange"]
        size = run["n_nodes"] * run["subbatch_size"] + 0.0 * turn
        epoch = run["dataset_size"] / size * turn
        return Solution({"epoch_s": epoch, "mean_minibatch_size": size, "turn_s": turn}, {"turn": parts})

PLAIN = Plain()
"""
RUN = (
    "--cnn",
    "alexnet",
    "--machine",
    "cpu-cluster",
    "--dataset-size",
    "60000",
    "--subbatch",
    "2",
    "--system",
    "plain_system:PLAIN",
)


@pytest.fixture
def model_path(small_model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "plain_system.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return str(small_model_file)


def invoke(*words: str) -> str:
    done = CliRunner().invoke(cli, list(words), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_the_answer_comes_first_and_names_what_was_not_measured(model_path: str) -> None:
    shown = invoke("predict", model_path, *RUN, "--nodes", "2", "--set", "pace=2")
    first = shown.splitlines()[0]
    assert first.startswith("alexnet on 2 x 2 GPUs of cpu-cluster, sub-batch 2, pace 2, plain: ")
    assert "an epoch (95 %: " in first
    assert "mean mini-batch 4.00; compute takes most of it" in first
    assert "exchange, telepathy (counted as 0) assumed, not measured" in first
    assert "Not measured, counted as 0: telepathy; intervals do not tell how far that is off." in shown
    assert "One period of the turn" in shown
    scaled = invoke("predict", model_path, *RUN, "--nodes", "2", "--what-if", "compute=0.5")
    assert scaled.startswith("alexnet on 2 x 2 GPUs of cpu-cluster, sub-batch 2, plain, what if compute x 0.5: ")


def test_several_configurations_are_one_table_and_one_document(model_path: str) -> None:
    words = (model_path, *RUN, "--nodes", "1,2,4", "--set", "pace=1,2")
    shown = invoke("predict", *words)
    assert shown.splitlines()[0].startswith("alexnet, plain, 6 configurations: fastest is alexnet on 1 x 2 GPUs")
    document = json.loads(invoke("predict", *words, "--json"))
    Draft202012Validator(command_schema("predict")).validate(document)
    assert document["result"]["system"] == "plain"
    assert len(document["result"]["outputs"]["turn_s"]) == 6


def test_a_data_set_smaller_than_a_step_is_told(model_path: str) -> None:
    """The mini-batch of the system is nodes times sub-batch: 2, 4 and 8 samples."""
    words = [model_path, *RUN]
    words[words.index("60000")] = "3"
    told = (
        "The data set of 3 samples is less than one step takes in 2 of 3 configurations (4.00): the epoch is that share of a step"
    )
    assert told in invoke("predict", *words, "--nodes", "1,2,4")
    assert "less than one step" not in invoke("predict", *words, "--nodes", "1")


def test_a_search_is_shown_and_stored(model_path: str) -> None:
    words = (model_path, *RUN, "--nodes", "1:4", "--minibatch", "3:9")
    first = invoke("search", *words).splitlines()[0]
    assert "plain, by epoch time: best is " in first
    document = json.loads(invoke("search", *words, "--json"))
    Draft202012Validator(command_schema("search")).validate(document)
    assert document["result"]["n_configs"] == 4
    scaled = invoke("search", *words, "--what-if", "compute=0.5").splitlines()[0]
    assert "plain, by epoch time, what if compute x 0.5: best is " in scaled
    nothing = invoke("search", model_path, *RUN, "--nodes", "1:4", "--minibatch", "900:1000")
    assert "no configuration that can run lies in the window" in nothing.splitlines()[0]


def test_a_figure_is_drawn(model_path: str) -> None:
    invoke("predict", model_path, *RUN, "--nodes", "1,2", "--plot", "parts.svg")
    drawn = Path("parts.svg").read_text(encoding="utf-8")
    assert "compute" in drawn
    assert "telepathy" not in drawn
    assert "configurations" not in drawn
    invoke("predict", model_path, *RUN, "--nodes", "1:9", "--plot", "parts.svg")
    assert "first 8 of 9 configurations" in " ".join(Path("parts.svg").read_text(encoding="utf-8").split())


def test_a_search_is_drawn_over_gpus(model_path: str) -> None:
    """The best for each number of GPUs and the ranking; nothing where nothing lies in the window."""
    invoke("search", model_path, *RUN, "--nodes", "1:4", "--plot", "search.svg")
    drawn = Path("search.svg").read_text(encoding="utf-8")
    assert "best for each number of GPUs" in drawn
    assert "the 4 ranked, 95 % interval of a run" in drawn
    words = ["search", model_path, *RUN, "--nodes", "1:4", "--minibatch", "900:1000", "--plot", "none.svg"]
    assert "there is nothing to draw" in str(CliRunner().invoke(cli, words).exception)
    assert not Path("none.svg").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("predict", "--elasticities"), "--elasticities"),
        (("predict", "--refine", "recursion"), "--refine"),
        (("search", "--window-quantile", "0.9"), "--window-quantile"),
    ],
)
def test_flags_of_sprint_are_refused(model_path: str, words: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError, match=f"got {told} with --system"):
        invoke(words[0], model_path, *RUN, *words[1:])


def test_sprint_has_no_settings(model_path: str) -> None:
    with pytest.raises(UsageError, match="sprint has no settings"):
        invoke("predict", model_path, *RUN[:-2], "--set", "pace=1")


def test_the_first_line_says_why_it_lies_outside_of_what_was_measured(model_path: str) -> None:
    words = ("predict", model_path, *RUN[:-2], "--system", "data-parallel", "--nodes", "2", "--cnn", "resnet18")
    few, many = (invoke(*words, *set_).splitlines()[0] for set_ in ((), ("--set", f"n_buckets={','.join(map(str, range(1, 34)))}")))
    assert re.search(r"outside the measured domain: .* measured .* to .* \([0-9.]+ % of the step's time\)", few)
    # Of many configurations no table of reasons is made: the components alone are named.
    assert re.search(r"outside the measured domain: backward \([0-9.]+ % of the step's time\), forward \(", many)
