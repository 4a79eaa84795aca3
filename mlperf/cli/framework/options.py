"""Options that several commands share, each a decorator, and their values from a configuration file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mlperf.cli.framework.group import command_words, record_name
from mlperf.cli.framework.networks import CnnName
from mlperf.cli.framework.outputs import CONFIG, check_outputs
from mlperf.cli.framework.show import Settings, Show
from mlperf.cli.framework.values import (
    NEW_FILE,
    OLD_FILE,
    OLD_MODEL,
    Counts,
    NameList,
    NameOrFile,
    NumberRange,
    SettingValues,
    SystemName,
    TermList,
    Window,
    Words,
)
from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError, UsageError
from mlperf.core.progress import Bar, Silent, progress_shown
from mlperf.core.suggest import did_you_mean


def _read_config(path: Path, command: str, known: Mapping[str, click.Parameter]) -> dict[str, Any]:
    """Parameter values that a TOML file gives a command, at top level or in a table named after it; ``-`` and ``_`` alike."""
    content = read_toml(path)
    outside_tables = {key: value for key, value in content.items() if not isinstance(value, Mapping)}
    found = content.get(command, content.get(command.split()[-1], outside_tables))
    if not isinstance(found, Mapping):
        got = f"got {found!r} under the command's name, expected a table of its options"
        raise DataError(got, place=str(path), hint=f"Write [{command.split()[-1]}] and below it options: nodes = 8")
    options = {key.replace("-", "_"): value for key, value in found.items()}
    for key in options:
        if key not in known:
            raise UsageError(
                f"got option {key!r}, expected one of mlperf {command}", place=str(path), hint=did_you_mean(key, known)
            )
    return {str(known[key].name): given_value(known[key], value, f"{path}, {key}") for key, value in options.items()}


def given_value(option: click.Parameter, value: Any, place: str) -> Any:
    """A value of a configuration as the command line would give it: a text, several of them for an option that may be repeated.

    Raises
    ------
    UsageError
        A table or a date, or a list where the option takes one value.
    """
    parts = value if isinstance(value, list) else [value]
    takes_list = getattr(option, "multiple", False) or isinstance(option.type, (Counts, TermList, NameList))
    if not all(isinstance(part, (str, int, float)) for part in parts) or (parts is value and not takes_list):
        raise UsageError(f"got {value!r:.60}, expected a text or a number", place=place, hint="As on the command line: nodes = 8.")
    if isinstance(value, bool):
        return value
    texts = [str(part) for part in parts]
    return texts if parts is value or getattr(option, "multiple", False) else texts[0]


def load_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:  # noqa: ARG001 - click's signature
    """Make the file's values the command's defaults."""
    if path is None:
        return
    ctx.meta[CONFIG] = path
    known = {name.lstrip("-").replace("-", "_"): option for option in ctx.command.params for name in option.opts}
    ctx.default_map = {**(ctx.default_map or {}), **_read_config(path, command_words(ctx), known)}


Function = TypeVar("Function", bound=Callable[..., Any])

TIME_UNITS = ("auto", "us", "ms", "s", "min", "h")


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``, ``--time-unit``, ``--config``, ``-q`` and ``-v``; the function gets ``show``."""

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        ctx = click.get_current_context()
        settings = ctx.ensure_object(Settings)
        check_outputs(ctx, settings.plot_path)
        show = Show(record_name(ctx), settings)
        with progress_shown(Bar() if show.progress_shown else Silent()):
            return function(*args, show=show, **kwargs)

    return with_options(*OUTPUT_OPTIONS)(command)


def with_options(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """A decorator that adds several options, which help lists in this order."""
    return lambda function: functools.reduce(lambda command, option: option(command), reversed(options), function)


def setting(name: str, value: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Callback that stores ``value(given)`` under ``name`` in the run's settings, where the option was given."""

    def store(ctx: click.Context, param: click.Parameter, given: Any) -> None:  # noqa: ARG001 - click's signature
        if given:
            setattr(ctx.ensure_object(Settings), name, value(given))

    return store


def silent_option(*names: str, **kwargs: Any) -> Callable[[Function], Function]:
    """An option that goes to the run's settings, not to the function."""
    return click.option(*names, expose_value=False, **kwargs)


OUTPUT_OPTIONS = (
    silent_option("--json", is_flag=True, callback=setting("as_json", bool), help="One JSON document instead of tables."),
    silent_option(
        "--time-unit", type=Words(TIME_UNITS), default="auto", callback=setting("time_unit", str), help="Unit of the tables' times."
    ),
    silent_option(
        "--config",
        type=OLD_FILE,
        is_eager=True,
        callback=load_config,
        help="TOML file with options of this command; flags override it.",
    ),
    silent_option("-q", "--quiet", is_flag=True, callback=setting("verbosity", lambda _: -1), help="Nothing but the result."),
    silent_option(
        "-v",
        "--verbose",
        is_flag=True,
        is_eager=True,
        callback=setting("verbosity", lambda _: 1),
        help="More detail, and tracebacks.",
    ),
)

plot_option = silent_option(
    "--plot",
    metavar="FILE",
    type=NEW_FILE,
    callback=setting("plot_path", Path),
    help="Draw the result into FILE (.svg, .png or .pdf).",
)
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of every random draw.")
jobs_option = click.option("--jobs", "n_jobs", type=int, default=1, help="Processes; -1 takes every core.")
level_option = click.option(
    "--level", type=click.IntRange(min=0), help="Level of repetition that is a step, where none are marked."
)
strict_option = click.option("--strict", is_flag=True, help="Refuse (exit 5) what lies outside the measured domain.")


model_argument = click.argument("model_path", metavar="MODEL", type=OLD_MODEL)
model_or_bundled = click.argument("model_path", metavar="[MODEL]", type=OLD_MODEL, required=False)
models_argument = click.argument("model_paths", metavar="[MODEL]...", nargs=-1, type=OLD_MODEL)
system_option = click.option(
    "--system",
    type=SystemName(),
    metavar="NAME",
    help="How the parts of a run couple: sprint, data-parallel, ...  [default: sprint]",
)
settings_option = click.option(
    "--set",
    "settings",
    type=SettingValues(),
    multiple=True,
    help="Setting of the system: accumulation=4 or 1,2,4; may be repeated.",
)
exchange_option = click.option(
    "--exchange",
    "exchange_path",
    type=OLD_FILE,
    help="Measured exchange of the system: what mlperf train --component exchange wrote.",
)
minibatch_option = click.option("--minibatch", type=Window(), help="Window of the mean mini-batch size, samples per update.")


def shipped_machines() -> Sequence[str]:
    """Names of the machines that ship with mlperf."""
    from mlperf.specs import machine_names

    return list(machine_names())


def shipped_samples() -> Sequence[str]:
    """Names of data sets for training that need no file."""
    from mlperf.collect.trainer.samples import NAMED

    return tuple(NAMED)


cnn_option = click.option(
    "--cnn",
    "cnns",
    type=CnnName(functions=True),
    multiple=True,
    help="CNN: a TOML file, a shipped name, CAMPAIGN/NAME; may be repeated.",
)
machine_option = click.option(
    "--machine", type=NameOrFile("machine", shipped_machines), help="Machine: a TOML file or a shipped name."
)
machines_option = click.option(
    "--machine",
    "machines",
    type=NameOrFile("machine", shipped_machines),
    multiple=True,
    help="Machine: a TOML file or a shipped name; one for each MODEL, in their order.",
)
job_option = click.option("--job", type=OLD_FILE, help="Job: a TOML file.")
nodes_option = click.option("--nodes", "n_nodes", type=Counts(), help="Nodes: 8, 1,2,4 or 1:64; overrides the job.")
gpus_option = click.option(
    "--gpus-per-node", "n_gpus_per_node", type=Counts(), help="GPUs of a node: 8 or 1:8; overrides the machine."
)
subbatch_option = click.option("--subbatch", "subbatch_size", type=Counts(), help="Samples per GPU iteration; overrides the job.")
dataset_option = click.option("--dataset-size", type=click.IntRange(min=1), help="Samples per epoch; overrides the job.")
epochs_option = click.option(
    "--epochs", type=NumberRange(min=0.0, min_open=True), help="Passes over the data set; overrides the job."
)
SPECIFICATION_OPTIONS = (
    cnn_option,
    machine_option,
    job_option,
    nodes_option,
    gpus_option,
    subbatch_option,
    dataset_option,
    epochs_option,
)


class KeyColumns(click.ParamType):  # type: ignore[type-arg]
    """Names of columns, comma-separated."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return one name an entry."""
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in str(value).split(","))
        if not all(names) or len(set(names)) < len(names):
            self.fail(f"got {value!r}, expected column names, for example kernel or kernel,build", param, ctx)
        return names


join_options = with_options(
    click.option("--join", multiple=True, type=OLD_FILE, help="Feature table (CSV) to join to the rows; may be repeated."),
    click.option(
        "--on",
        multiple=True,
        type=KeyColumns(),
        help="Key columns of the join, comma-separated; once for all tables, or once for each.  [default: kernel]",
    ),
)
"""``--join`` and ``--on``; the function gets ``join`` and, where it was given, ``on``."""

counter_options = with_options(
    click.option(
        "--profile-run",
        "counters_from",
        flag_value="short run",
        help="Count the kernels of the CNN in a short run here, for a model with terms of counters.",
    ),
    click.option(
        "--surrogates",
        "counters_from",
        flag_value="cache model",
        help="Let models of such counters stand in: on the cache model, or of library layers on their sizes.",
    ),
)
"""``--profile-run`` and ``--surrogates``; the function gets ``counters_from``."""
