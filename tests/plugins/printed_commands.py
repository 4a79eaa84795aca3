"""Every command that a help text, the README or a page prints, and which of them take long or need what only some have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from mlperf.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PLACEHOLDER = re.compile(r"\b(NAME|COMMIT|FOLDER)\b")
LONG = {
    "mlperf collect": "measures for minutes; run by the tests of the commands",
    "mlperf demo": "run by the first command of the README",
    "mlperf accuracy": "reads the open data",
    "mlperf kernels study": "minutes; run by the tests of the study",
    "kernels train simd_tensor": "reads the open data",
    "features engine": "reads every kernel of a campaign for a minute; run by the tests of the features",
    "features gain": "minutes; run by the tests of the command",
    "--figures": "half a minute each; run by the tests of the figures",
    "train cpu-epyc": "minutes",
    "train cpu-xeon": "minutes",
    "train asgd": "minutes",
    "work.py 45": "runs for 45 seconds",
    "asgd-networks": "a minute",
    "train campaign": "most of a minute; run by the tests of the command",
}
"""Commands that take long, by a part of them, and why; with MLPERF_LONG=1 each is run for a while."""

ELSEWHERE = {
    "--counters kernel_counters": "needs counters of kernels",
    "asgd -- -o emulated --cnn my.toml": "needs measured steps of that network",
    "kernels.json unseen.csv": "needs a model of kernels; run by the tests of the command",
    "campaign --characteristics": "minutes; run by the tests of training",
    "campaign --backend torch": "minutes, and a campaign of torch",
    "train quality": "needs runs of a trainer",
    "quality.json": "needs runs of a trainer",
    "--profile-run": "needs counters of kernels",
    "known.json": "run by the test of that page",
    "campaign.json": "run by the test of that page",
    "time (ms)": "run by the test of that page",
    "--by network -o calibration.json": "run by the test of that page",
    "cnn.toml": "needs the runs of that page",
    "exchange.csv --apart": "most of a minute; run by the tests of fitted systems",
    "parts.json": "needs the model of the line before it; run by the tests of fitted systems",
    "features dwc-b": "needs counters; run by the tests of the features",
    "--progress-file": "a program that tells its progress; run by the tests of the command",
    "data import": "needs a GPU's campaign; run by the tests of the import",
    "--window 1.5:2.5": "a run of seconds; run by the tests of the command",
    "rank_0.json.gz --level": "a trace with levels of repetition; run by the tests of steps",
    "--only vgg11": "a campaign with that network; run by the tests of the command",
    "kernels train contractions": "needs contractions that were collected; run by the tests of the command",
    "kernels predict kernels.json --pattern": "needs a model of kernels; run by the tests of the command",
}
"""Commands whose inputs other tests make, by a part of them."""


def subcommands(command: click.Command, context: click.Context) -> Iterator[click.Command]:
    """A command and everything below it."""
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from subcommands(below, click.Context(below, parent=context, info_name=name))


def printed() -> list[str]:
    """Each command once, whole lines."""
    found = []
    for command in subcommands(cli, click.Context(cli, info_name="mlperf")):
        lines = (command.epilog or "").replace("\\\n", " ").splitlines()
        found += [line.strip().removeprefix("Example: ") for line in lines]
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            found += [line.removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines() if line.startswith("$ ")]
    commands = (re.sub(r"\s+", " ", line) for line in found if line.startswith("mlperf "))
    return list(dict.fromkeys(command for command in commands if not PLACEHOLDER.search(command)))


COMMANDS = printed()
TAKE_LONG = [
    command for command in COMMANDS if any(part in command for part in LONG) and not any(part in command for part in ELSEWHERE)
]
SHORT = [command for command in COMMANDS if not any(part in command for part in (*LONG, *ELSEWHERE))]


def words(command: str) -> list[str]:
    """Arguments as a shell would pass them, before a redirection."""
    return shlex.split(command.partition(" > ")[0])[1:]


def as_a_shell(words: list[str]) -> list[str]:
    """Words with stars replaced by the files that they fit."""
    found = [sorted(str(path) for path in Path().glob(word)) if "*" in word else [] for word in words]
    return [each for word, files in zip(words, found, strict=True) for each in files or [word]]
